// Names and values that somebody types, a row each.
import { h, icon } from "../core/dom.js";
import { gettext } from "../core/text.js";

/** `element` to show; `add()` a row; `read()`: name → value of the rows that have a name. */
export function pairRows(/** @type {string} */ label, /** @type {string} */ more) {
  const rows = h("div", { class: "rc-headers" });
  const add = () => {
    const name = h("input", { class: "rc-input", "aria-label": label, placeholder: gettext("name") });
    const value = h("input", { class: "rc-input", "aria-label": gettext("Value"), placeholder: gettext("value") });
    const row = h("div", { class: "rc-header-row" }, name, value);
    row.append(
      h(
        "button",
        { type: "button", class: "rc-icon-button", "aria-label": gettext("Remove"), onclick: () => row.remove() },
        icon("close"),
      ),
    );
    rows.append(row);
    name.focus();
  };
  return {
    element: h(
      "div",
      { class: "rc-headers" },
      rows,
      h("div", {}, h("button", { type: "button", class: "rc-button rc-small", onclick: add }, more)),
    ),
    add,
    /** @returns {Record<string, string>} */
    read: () => {
      const pairs = Array.from(rows.children, (row) =>
        Array.from(row.querySelectorAll("input"), (input) => input.value),
      );
      return Object.fromEntries(pairs.filter(([name]) => name));
    },
  };
}
