// Asking `/api/v1`, like everybody else: with the session and its CSRF token. Whole numbers beyond 2^53 are text there.
import { page } from "./page.js";
import { released } from "./press.js";
import { fill, gettext } from "./text.js";

/** @typedef {Record<string, any>} Query */

const LIFE = "RMQ-Created-Ms";
const TRIES = 3;
const PAUSE_MS = 700;
/** A line that is cut somewhere on the way says nothing, and a browser would wait for a quarter of an hour. */
const PATIENCE_MS = 60_000;
/** What was perhaps done, and is asked for again: it is done once all the same. */
const AGAIN = ["unreachable", "in_progress"];
/** What a proxy says for a console that is not there just now, as while it is restarted. */
const BY_PROXIES = [502, 503, 504];
const NOTHING = 204;
/** Of those who sign in in another tab, are asked to wait, or of a Redis that comes back. */
const PASSING = [401, 429, 503];
/** So long who presses again means the same. Later somebody else may have undone it, and it is meant anew. */
const MEANT_MS = 600_000;
/** @type {Record<string, string>} */
const SENTENCES = {
  unauthorized: gettext("You are signed out. Sign in in another tab, then go on here."),
  in_progress: gettext(
    "It is being worked on, or was begun by a process that has ended: try again in two minutes, with nothing changed.",
  ),
  csrf: gettext("This page is older than your sign-in. Nothing was done: reload it and try again."),
  unknown_route: gettext("This route was deleted."),
  unknown_group: gettext("This group was deleted."),
  no_such_version: gettext("Somebody else has deleted this meanwhile."),
  topic_exists: gettext("A topic of this name is there already."),
  group_exists: gettext("A group of this name is there already."),
  route_exists: gettext("A route of this name is there already."),
  due_in_the_past: gettext("That time has gone by already; choose a later one."),
  changed_meanwhile: gettext("Somebody else has changed this meanwhile: open it again."),
  route_changed: gettext("Somebody else has changed this meanwhile: open it again."),
  version_conflict: gettext("Somebody else has changed this meanwhile: open it again."),
  made_anew: gettext(
    "What you saw was deleted, and another of the same name was made: nothing was done. Load the page anew to act on that.",
  ),
};

/** Which topic is not there, by the engine's sentence, which names it first: it may be another than the page is about. */
function unknownTopic(/** @type {string} */ message) {
  const name = /'([^']+)'/.exec(message)?.[1];
  return name && name !== page.topic?.name
    ? fill(gettext("The topic %(name)s was deleted, or is not there."), { name })
    : gettext("This topic was deleted.");
}

/** A refusal, in words for people; `fields`: [{field, problem}], `code` and `status` for programs. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {{field: string, problem: string}[]} [fields]
   */
  constructor(status, code, message, fields = []) {
    super(code === "unknown_topic" ? unknownTopic(message) : (SENTENCES[code] ?? message));
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

/**
 * What would be asked for. `headers`: those that a caller with a token needs, too.
 * @typedef {{ method: string, url: string, body: object | undefined, headers: Record<string, string> }} Asked
 */

/** Instead of a request that changes something, while it is only to be seen. */
export class Captured extends Error {
  constructor(/** @type {Asked} */ asked) {
    super("captured");
    this.asked = asked;
  }
}

let capturing = false;

/** Run what asks for something; its first request that would change something is thrown as `Captured`, and not sent. */
export async function captured(/** @type {() => any} */ ask) {
  capturing = true;
  try {
    await ask();
  } finally {
    capturing = false;
  }
}

/**
 * GET with query values; empty ones are left out. Pass `signal` to stop it. What is asked for says of which shape it is:
 * `Api` has them all.
 * @template Answer
 * @param {string} path
 * @param {Query} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer>}
 */
export async function get(path, query = {}, signal = undefined) {
  return answer(await reach(address(path, query), { signal }, AWAY), AWAY, signal);
}

/**
 * The same with the answer's ETag: `[body, etag]`.
 * @template Answer
 * @param {string} path
 * @returns {Promise<[Answer, string]>}
 */
export async function getTagged(path) {
  const response = await reach(address(path), {}, AWAY);
  return [await answer(response, AWAY), response.headers.get("ETag") ?? ""];
}

/**
 * POST.
 * @template Answer
 * @param {string} path
 * @param {object} [body]
 * @param {Record<string, string>} [headers]
 * @returns {Promise<Answer>}
 */
export const post = (path, body = {}, headers = {}) => once("POST", path, {}, body, headers);

/**
 * PUT; `etag`: of the version to replace, none where it is to be created.
 * @template Answer
 * @param {string} path
 * @param {Query} query
 * @param {object} body
 * @param {string | null} [etag]
 * @returns {Promise<Answer>}
 */
export const put = (path, query, body, etag) =>
  once("PUT", path, query, body, etag ? { "If-Match": etag } : { "If-None-Match": "*" });

/**
 * @template Answer
 * @param {string} path
 * @param {object} body
 * @param {string} [etag] of what was seen, where somebody else may have changed it since
 * @returns {Promise<Answer>}
 */
export const patch = (path, body, etag) => once("PATCH", path, {}, body, etag ? { "If-Match": etag } : {});

/**
 * @template Answer
 * @param {string} path
 * @param {Query} query
 * @param {string} [etag] as of `patch`
 * @returns {Promise<Answer>}
 */
export const remove = (path, query, etag) => once("DELETE", path, query, undefined, etag ? { "If-Match": etag } : {});

/** An address below /api/v1, for downloads as well; empty query values are left out. */
export function address(/** @type {string} */ path, query = /** @type {Query} */ ({})) {
  const url = new URL(page.api + path, location.href);
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== "" && value !== false) url.searchParams.set(name, value);
  return url.href;
}

/** The path of a topic, or of something of it. */
export const ofTopic = (/** @type {string} */ name, rest = "") => `topics/${encodeURIComponent(name)}${rest}`;

/**
 * For a request about a topic or group: it is about the one that was seen, and no other of its name.
 * @param {{ created_ms?: number }} seen
 * @returns {Record<string, string>}
 */
export const aboutThis = ({ created_ms }) => (created_ms ? { [LIFE]: String(created_ms) } : {});

/** An id in a path. Only plain ones go as they are: slashes, colons and dots would mean something on the way. */
export function ofId(/** @type {string} */ ident) {
  if (/^[\w~-][\w.~-]*$/.test(ident)) return ident;
  const hex = ident.startsWith("%")
    ? ident.slice(1)
    : Array.from(new TextEncoder().encode(ident), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `%25${hex}`;
}

const AWAY = gettext("The server cannot be reached.");
const LOST = gettext(
  "The server did not answer. Try again, with nothing changed: what was done already is not done twice.",
);
/** What is asked for just now: a second press waits for the answer to the first. @type {Map<string, Promise<any>>} */
const underWay = new Map();
/** The keys of what was perhaps done: whoever presses again asks for the same. @type {Map<string, { known: string, untilMs: number }>} */
const unanswered = new Map();

/**
 * What changes something. It carries a key of its own, so an answer that was lost is asked for again, by us and then by who
 * presses again, and nothing is done twice.
 * @template Answer
 * @param {string} method
 * @param {string} path
 * @param {Query} query
 * @param {object | undefined} body
 * @param {Record<string, string>} headers
 * @returns {Promise<Answer>}
 */
export async function once(method, path, query, body, headers) {
  stopCaptured(method, path, query, body, headers);
  const url = address(path, query);
  const asked = JSON.stringify([method, url, body, headers]);
  const looks = Boolean({ ...body, ...query }.validate_only);
  const ours = { ...aboutPage(path), ...headers };
  const begun = underWay.get(asked) ?? untilAnswered(asked, url, () => changing(method, body, ours), looks);
  underWay.set(asked, begun);
  try {
    return await begun;
  } finally {
    underWay.delete(asked);
  }
}

/** What is asked of the topic of this page is about the one that the page is about. Its groups have lives of their own. */
function aboutPage(/** @type {string} */ path) {
  const own = page.topic && ofTopic(page.topic.name);
  return own && path.startsWith(own) && /^($|:|\/(?!groups\/))/.test(path.slice(own.length))
    ? aboutThis(page.topic)
    : {};
}

/**
 * Who only looks has no key: with one, the answer that was lost would come again, and tell of what was then.
 * @param {string} asked
 * @param {string} url
 * @param {() => RequestInit} options
 * @param {boolean} looks
 */
async function untilAnswered(asked, url, options, looks) {
  const lost = looks ? AWAY : LOST;
  const before = unanswered.get(asked);
  const meant = before && Date.now() < before.untilMs ? before : { known: key(), untilMs: Date.now() + MEANT_MS };
  const untilMs = Date.now() + PATIENCE_MS;
  for (let left = TRIES - 1; ; left -= 1) {
    const ours = options();
    try {
      const keyed = { ...ours, headers: { "Idempotency-Key": meant.known, ...ours.headers } };
      const found = await answer(await reach(url, looks ? ours : keyed, lost), lost);
      unanswered.delete(asked);
      return found;
    } catch (error) {
      if (codeOf(error) === "csrf" && left && (await signedInAgain())) continue;
      const again = AGAIN.includes(codeOf(error));
      if (again) unanswered.set(asked, meant);
      else unanswered.delete(asked);
      if (!left || Date.now() >= untilMs || !again) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Who has signed in again, in another tab, goes on here with what was typed; somebody else does nothing by this page. */
async function signedInAgain() {
  try {
    const asked = { credentials: /** @type {const} */ ("same-origin"), signal: AbortSignal.timeout(PATIENCE_MS) };
    const text = await (await fetch(location.href, asked)).text();
    const data = new DOMParser().parseFromString(text, "text/html").getElementById("page-data");
    /** @type {PageData} */
    const { csrf, username } = JSON.parse(data?.textContent ?? "{}");
    if (!csrf || username !== page.username) return false;
    page.csrf = csrf;
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Query} query
 * @param {object | undefined} body
 * @param {Record<string, string>} headers
 */
function stopCaptured(method, path, query, body, headers) {
  const { [LIFE]: _, ...others } = headers; // a command is about whatever has the name when it is run
  if (capturing) throw new Captured({ method, url: address(path, query), body, headers: others });
}

/**
 * @param {string} method
 * @param {object | undefined} body
 * @param {Record<string, string>} headers
 * @returns {RequestInit}
 */
function changing(method, body, headers) {
  const ours = { "X-CSRFToken": page.csrf, ...headers };
  if (body === undefined) return { method, headers: ours };
  return { method, headers: { ...ours, "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** Not of crypto.randomUUID, which is there over HTTPS alone. */
function key() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @param {string} lost
 */
async function reach(url, options, lost) {
  const late = AbortSignal.timeout(PATIENCE_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
  try {
    return await fetch(url, { credentials: "same-origin", ...options, signal });
  } catch (error) {
    if (isStopped(error)) throw error;
    await released(); // whoever asked says so on the page
    throw new ApiError(0, "unreachable", lost);
  }
}

/** Which fields of what was sent are wrong, where the error says so. */
export const wrongFields = (/** @type {unknown} */ error) => (error instanceof ApiError ? error.fields : []);

/** What kind of refusal it is; "" of what is none. */
export const codeOf = (/** @type {unknown} */ error) => (error instanceof ApiError ? error.code : "");

/** Whether it may pass by itself: nobody answered, Redis or the database is away, nobody is signed in just now. */
export const mayPass = (/** @type {unknown} */ error) =>
  error instanceof ApiError && (error.code === "unreachable" || PASSING.includes(error.status));

/** Whether that is how an answer ends that nobody waits for any more. */
export const isStopped = (/** @type {unknown} */ error) => error instanceof Error && error.name === "AbortError";

/**
 * @param {Response} response
 * @param {string} lost
 * @param {AbortSignal} [signal]
 */
async function answer(response, lost, signal) {
  const found = await response.json().catch(() => undefined);
  await released(); // whoever asked draws it
  signal?.throwIfAborted(); // by what was pressed meanwhile
  if (response.ok && (found !== undefined || response.status === NOTHING)) return found;
  const { status, statusText } = response;
  // The line broke in the middle of it, or what stands before the console answered.
  if (response.ok) throw new ApiError(status, "unreachable", lost);
  if (!found?.code && BY_PROXIES.includes(status))
    throw new ApiError(status, "unreachable", `${lost} (${`${status} ${statusText}`.trim()})`);
  const message = found?.message ?? found?.detail ?? `${status} ${statusText}`;
  throw new ApiError(status, found?.code ?? "error", message, found?.fields ?? []);
}
