// The button beside a chart that shows the same as a table.
import { h, icon } from "../core/dom.js";
import { gettext } from "../core/text.js";

export function tableToggle(/** @type {() => void} */ onclick) {
  return h(
    "button",
    {
      type: "button",
      class: "rc-icon-button",
      "aria-label": gettext("Show as table"),
      title: gettext("Show as table"),
      "aria-pressed": "false",
      onclick,
    },
    icon("table_rows"),
  );
}
