// A JSON value as a tree that folds. Everything is text.
import { h } from "../core/dom.js";
import { Num } from "../core/json.js";
import { fill, gettext, ngettext } from "../core/text.js";

/** @typedef {import("../core/json.js").Json} Json */

const OPEN_LEVELS = 3;
const MOST_CHILDREN = 500;

export function jsonTree(/** @type {Json} */ value) {
  return h("div", { class: "rc-json" }, node(null, value, 0));
}

/**
 * @param {string | null} key
 * @param {Json} value
 * @param {number} depth
 * @returns {HTMLElement}
 */
function node(key, value, depth) {
  const name = key === null ? [] : [h("span", { class: "rc-json-key" }, key), ": "];
  if (value instanceof Map) return branch(name, "{}", [...value], depth);
  if (Array.isArray(value))
    return branch(
      name,
      "[]",
      value.map((item, index) => [String(index), item]),
      depth,
    );
  return h("div", { class: "rc-json-leaf" }, ...name, leaf(value));
}

/**
 * @param {(HTMLElement | string)[]} name
 * @param {string} brackets
 * @param {[string, Json][]} entries
 * @param {number} depth
 * @returns {HTMLElement}
 */
function branch(name, brackets, entries, depth) {
  if (!entries.length) return h("div", { class: "rc-json-leaf" }, ...name, brackets);
  const size = fill(ngettext("%(n)s entry", "%(n)s entries", entries.length), { n: entries.length });
  const shown = entries.slice(0, MOST_CHILDREN).map(([key, value]) => node(key, value, depth + 1));
  if (entries.length > MOST_CHILDREN)
    shown.push(h("div", { class: "rc-muted" }, gettext("More entries are in the text view and the download.")));
  return h(
    "details",
    { open: depth < OPEN_LEVELS },
    h("summary", {}, ...name, brackets[0], h("span", { class: "rc-muted" }, ` ${size} `), brackets[1]),
    ...shown,
  );
}

function leaf(/** @type {Json} */ value) {
  if (value instanceof Num) return h("span", { class: "rc-json-number" }, value.digits);
  if (typeof value === "string") return h("span", { class: "rc-json-string" }, JSON.stringify(value));
  return h("span", { class: "rc-json-word" }, String(value));
}
