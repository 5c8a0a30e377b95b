// Messages as the API takes them, out of what somebody typed.
import { wrongFields } from "../core/api.js";
import { Num, parse } from "../core/json.js";
import { fill, gettext, messageOf } from "../core/text.js";

/** @typedef {{ line: number, message: Record<string, any> }} Draft */

/**
 * `one`: the text is a content; `lines`: each line is one; `objects`: each line is a JSON object, whose fields go before
 * the other values. Throws an Error that names the line.
 * @param {string} mode
 * @param {string} text
 * @param {Record<string, any>} values of every message; empty ones are left out
 * @returns {{line: number, message: Record<string, any>}[]}
 */
export function drafts(mode, text, values) {
  /** @type {Record<string, any>} */
  const common = Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)));
  if (mode === "one") return [{ line: 0, message: { ...content(text, common.encoding), ...without(common) } }];
  const lines = text
    .split(/\r\n|\r|\n/)
    .map((words, at) => ({ words, line: at + 1 }))
    .filter(({ words }) => words.trim());
  if (!lines.length) throw new Error(gettext("Write at least one message, each in a line of its own."));
  return lines.map(({ words, line }) => ({
    line,
    message: { ...without(common), ...(mode === "lines" ? { content: words } : object(words, line)) },
  }));
}

/**
 * A refusal in words: fields are named by the number of their message, people count lines.
 * @param {unknown} problem
 * @param {Draft[]} found
 */
export function refusal(problem, found) {
  const [first] = wrongFields(problem);
  const [, at] = /^messages\.(\d+)/.exec(first?.field ?? "") ?? [];
  const line = at === undefined ? 0 : found[Number(at)]?.line;
  if (!line) return messageOf(problem);
  const name = first.field.split(".").slice(2).join(".");
  const words = name ? `${name}: ${first.problem}` : first.problem;
  return fill(gettext("Line %(number)s: %(problem)s"), { number: line, problem: words });
}

const isEmpty = (/** @type {any} */ value) =>
  value === "" ||
  value === null ||
  value === undefined ||
  Number.isNaN(value) ||
  (typeof value === "object" && !Object.keys(value).length);

const content = (/** @type {string} */ text, /** @type {string | undefined} */ encoding) =>
  encoding === "base64" ? { content_base64: text.replace(/\s/g, "") } : { content: text };

function without(/** @type {Record<string, any>} */ { encoding, ...rest }) {
  return rest;
}

function object(/** @type {string} */ words, /** @type {number} */ line) {
  /** @type {unknown} */
  let found = null;
  try {
    found = parse(words);
  } catch {
    // Reported below.
  }
  if (!(found instanceof Map))
    throw new Error(
      fill(gettext("Line %(number)s: %(problem)s"), { number: line, problem: gettext("It is no JSON object.") }),
    );
  return plain(found);
}

/**
 * Whole numbers that JavaScript would round are text, as the API takes them.
 * @returns {any}
 */
function plain(/** @type {any} */ value) {
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, each]) => [name, plain(each)]));
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Num)) return value;
  const number = Number(value.digits);
  return /^-?\d+$/.test(value.digits) && !Number.isSafeInteger(number) ? value.digits : number;
}
