// What lists have that are read page by page.
import { h } from "../core/dom.js";
import { time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";

/** For one slot alone; `choose(text)`, "" of all. */
export function slotInput(/** @type {string} */ value, /** @type {(text: string) => void} */ choose) {
  return h("input", {
    class: "rc-input rc-slot",
    type: "number",
    min: 0,
    max: page.topic.slots - 1,
    value,
    placeholder: gettext("all slots"),
    "aria-label": gettext("Only of slot"),
    onchange: (/** @type {any} */ event) => choose(event.target.value),
  });
}

/** The button below a list, in its foot; the foot is hidden where there is no more. */
export function moreFoot(/** @type {() => void} */ load) {
  const button = h("button", { type: "button", class: "rc-button", onclick: load }, gettext("Load more"));
  return h("div", { class: "rc-more", hidden: true }, button);
}

/** When what is shown was so. */
export function asOf(/** @type {number} */ ms, /** @type {boolean} */ severalPages) {
  const held = severalPages ? ` · ${gettext("refreshing is paused while more than one page is shown")}` : "";
  return fill(gettext("as of %(time)s"), { time: time(ms) }) + held;
}
