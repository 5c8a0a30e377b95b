// A list as a file: a link for each format. Who lacks the permission sees them too, and what is missing.
import { address } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { guardedButton } from "./guardedbutton.js";

const FORMATS = [
  ["jsonl", "JSON Lines"],
  ["csv", "CSV"],
];

/** `missing`: the sentence that says which permission; `query`: what narrows the list. */
export function downloadLinks(path, missing, query = {}) {
  return FORMATS.map(([form, label]) =>
    missing
      ? guardedButton({ symbol: "download", label, missing }, () => {})
      : h("a", { class: "rc-button", href: address(path, { ...query, form }), download: "" }, icon("download"), label),
  );
}
