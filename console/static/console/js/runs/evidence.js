// What shows a finding, in words: names and values of its evidence.
import { h } from "../core/dom.js";
import { dateTime, duration, exact } from "../core/format.js";
import { gettext } from "../core/text.js";
import { EVENTS } from "../parts/steps.js";

/** @type {Record<string, string>} */
const NAMES = {
  after_n: gettext("Known until entry"),
  around: gettext("Added around rmq"),
  at_ms: gettext("Seen"),
  books: gettext("Ledger of the slot"), // as older releases named it
  by: gettext("To be corrected by"),
  dead: gettext("Dead"),
  died_ms: gettext("Died"),
  doubled: gettext("Twice"),
  done: gettext("Ever done"),
  due_ms: gettext("Due"),
  entry: gettext("Journal entry"),
  error: gettext("Error"),
  event: gettext("Event"),
  expected: gettext("Expected"),
  extra: gettext("Too many"),
  failures: gettext("Failures"),
  first_n: gettext("Known from entry"),
  flying: gettext("In flight"), // as older releases named it
  found: gettext("Found in"),
  gap: gettext("Off by"),
  held: gettext("Messages there when it began"),
  home: gettext("Its own slot"),
  in_flight: gettext("In flight"),
  last_entry: gettext("Last journal entry"),
  last_event: gettext("Last event"),
  last_ms: gettext("At"),
  last_n: gettext("Last entry"),
  ledger: gettext("Ledger of the slot"),
  life: gettext("Life of the slot"),
  message: gettext("Error message"),
  missing: gettext("Missing"),
  place: gettext("Place among equals"),
  place_found: gettext("Place found"),
  prepare: gettext("Receipt"),
  priority: gettext("Priority"),
  queue: gettext("State"),
  queues: gettext("Found in"),
  readers: gettext("Readers"),
  reason: gettext("Reason"),
  receipt: gettext("Receipt"),
  route: gettext("Route"),
  score: gettext("Score"),
  seen: gettext("Seen as"),
  slots: gettext("Slots"),
  stands_behind: gettext("Stands behind"),
  taken_ms: gettext("Taken"),
  visibility_timeout_ms: gettext("Visibility timeout"),
  waiting: gettext("Waiting"),
  what: gettext("What differs"),
  why: gettext("What to know"),
  with_server: gettext("Lost with the server"),
  written: gettext("Entries written"),
};
/** @type {Record<string, string>} */
const DIFFERS = {
  content: gettext("Content"),
  died_ms: NAMES.died_ms,
  due_ms: NAMES.due_ms,
  end: gettext("How it ended"),
  failure: gettext("Failure record"),
  failures: NAMES.failures,
  no_content: gettext("Content"),
  place: NAMES.place,
  priority: NAMES.priority,
  queue: NAMES.queue,
  taken_ms: NAMES.taken_ms,
};
const PLACED = ["expected", "extra", "found", "missing", "queue", "queues"];
const [WAITING, RETRYING, IN_FLIGHT, DEAD] = [
  gettext("waiting"),
  gettext("retrying"),
  gettext("in flight"),
  gettext("dead"),
];
/** Copies and queues, and the letters of these in journals.
 * @type {Record<string, string>} */
const PLACES = {
  ...{ waiting: WAITING, store: WAITING, s: WAITING, retry: RETRYING, r: RETRYING },
  ...{ in_flight: IN_FLIGHT, prepare: IN_FLIGHT, p: IN_FLIGHT, dead: DEAD, d: DEAD },
};
const MOMENTS = ["last_ms", "died_ms", "taken_ms", "at_ms"];
const ELSEWHERE = ["advice", "repaired_by"];
const VALUE_MAX = 300;
const LONG_AGO_MS = 1e11;

/** `values`: of a finding. What says the same as words elsewhere is left out. */
export function evidence(/** @type {Record<string, any>} */ values) {
  const pairs = Object.entries(values).filter(
    ([name, value]) => !ELSEWHERE.includes(name) && value !== null && value !== "",
  );
  return h(
    "dl",
    { class: "rc-evidence" },
    pairs.map(([name, value]) => [
      h("dt", {}, NAMES[name] ?? name),
      h("dd", {}, shown(name, value).slice(0, VALUE_MAX)),
    ]),
  );
}

/** A value of the evidence of that name, in words. */
export function shown(/** @type {string} */ name, /** @type {any} */ value) {
  const words = name === "what" ? DIFFERS : PLACED.includes(name) ? PLACES : name.endsWith("event") ? EVENTS : {};
  if (Array.isArray(value)) return value.map((each) => inWords(words, each)).join(", ") || gettext("nowhere");
  if (typeof value === "string") return inWords(words, value);
  if (typeof value === "boolean") return value ? gettext("yes") : gettext("no");
  if (typeof value === "object") return JSON.stringify(value);
  if (name.endsWith("_ms")) return value > LONG_AGO_MS ? dateTime(value) : duration(value);
  return typeof value === "number" ? exact(value) : String(value);
}

/** The word for a value; without one, the value. */
export function inWords(/** @type {Record<string, string>} */ words, /** @type {any} */ value) {
  return Object.hasOwn(words, value) ? words[value] : String(value);
}

/** When it happened, or else was seen; null where the evidence does not say. */
export function momentOf(/** @type {Record<string, unknown>} */ evidence) {
  const known = MOMENTS.map((name) => evidence[name]).find((each) => typeof each === "number" && each > LONG_AGO_MS);
  return typeof known === "number" ? known : null;
}
