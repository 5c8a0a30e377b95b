// A list as a file: a link for each format. Who lacks the permission sees them too, and what is missing.
import { address } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { guardedButton } from "./guardedbutton.js";

/** @type {[string, string][]} */
const FORMATS = [
  ["jsonl", "JSON Lines"],
  ["csv", "CSV"],
];

/**
 * `missing`: the sentence that says which permission; `query`: what narrows the list.
 * @param {string} path
 * @param {string | null} missing
 * @param {Record<string, any>} [query]
 */
export function downloadLinks(path, missing, query = {}) {
  return FORMATS.map(([form, label]) =>
    missing
      ? guardedButton({ symbol: "download", label, missing }, () => {})
      : h("a", { class: "rc-button", href: address(path, { ...query, form }), download: "" }, icon("download"), label),
  );
}
