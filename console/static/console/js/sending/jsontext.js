// Rewriting JSON without loss: numbers keep the digits they came with.
import { Num, parse } from "../core/json.js";

/** The text, indented; throws SyntaxError where it is not JSON. */
export function indented(/** @type {string} */ text) {
  return write(parse(text), "");
}

/** @returns {string} */
function write(/** @type {import("../core/json.js").Json} */ value, /** @type {string} */ indent) {
  if (value instanceof Num) return value.digits;
  if (value instanceof Map)
    return list(
      "{}",
      [...value].map(([key, each]) => `${JSON.stringify(key)}: ${write(each, `${indent}  `)}`),
      indent,
    );
  if (Array.isArray(value))
    return list(
      "[]",
      value.map((each) => write(each, `${indent}  `)),
      indent,
    );
  return JSON.stringify(value);
}

/**
 * @param {string} brackets
 * @param {string[]} items
 * @param {string} indent
 */
function list(brackets, items, indent) {
  if (!items.length) return brackets;
  const inner = items.map((item) => `${indent}  ${item}`).join(",\n");
  return `${brackets[0]}\n${inner}\n${indent}${brackets[1]}`;
}
