// The reader's time zone: the one they have chosen, else the browser's. Times that are typed are of it, too.
import { page } from "./page.js";
import { fill, gettext } from "./text.js";

const DAY = 86_400_000;
const LOCAL = /^(\d{4,6})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?$/;

/** Whether this browser has such a zone. */
export function isZone(/** @type {string} */ name) {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
}

export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const chosen = page.preferences?.time_zone ?? "";
export const zone = chosen && isZone(chosen) ? chosen : browserZone;

/** What a wall calendar and a clock say. @type {Intl.DateTimeFormatOptions} */
export const WALL = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
};
const wall = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", { ...WALL, timeZone: zone });

/** How far the zone's clocks are ahead of UTC at a moment, in ms. */
export function ahead(/** @type {number} */ ms) {
  const part = Object.fromEntries(wall.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const second = Math.floor(ms / 1000) * 1000;
  return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) - second;
}

/** A moment as a field for local times has it: 19 letters of it tell seconds, 23 milliseconds. */
export const localText = (/** @type {number} */ ms, length = 19) =>
  new Date(ms + ahead(ms)).toISOString().slice(0, length);

/**
 * The moment that a field for local times means; NaN of none. As everywhere: of an hour that the clocks show twice the
 * first, and of one that they leave out as if they had not yet been put forward.
 */
export function momentOf(/** @type {string} */ text) {
  const found = LOCAL.exec(text);
  const asUtc = found ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(asUtc)) return Number.NaN;
  const [before, after] = [ahead(asUtc - DAY), ahead(asUtc + DAY)];
  const fitting = [before, after].filter((offset) => ahead(asUtc - offset) === offset);
  return asUtc - (fitting.length ? Math.max(...fitting) : before);
}

/** What fields were given, and how they show it. @type {WeakMap<HTMLInputElement, { text: string, ms: number }>} */
const given = new WeakMap();

/** Give a field for local times a moment, as `localText` writes it. */
export function putMoment(/** @type {HTMLInputElement} */ field, /** @type {number} */ ms, length = 19) {
  field.value = localText(ms, length);
  given.set(field, { text: field.value, ms: length > 19 ? ms : Math.floor(ms / 1000) * 1000 });
}

/** The moment it means: of an hour that the clocks show twice the one that it was given, as long as nobody types. */
export function momentIn(/** @type {HTMLInputElement} */ field) {
  const known = given.get(field);
  return known && known.text === field.value ? known.ms : momentOf(field.value);
}

/** The title of a field in which a time is typed, with the zone it is read in. */
export const inZone = (/** @type {string} */ title) => fill(gettext("%(title)s (%(zone)s)"), { title, zone });

/** Whether two moments are of one day there. */
export const sameDay = (/** @type {number} */ one, /** @type {number} */ other) =>
  localText(one, 10) === localText(other, 10);
