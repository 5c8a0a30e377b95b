// What a change would do, before it is done: the differences, the consequences, the reason, and the last click.
import { h, headRow, icon } from "../core/dom.js";
import { time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { ask } from "../parts/ask.js";
import { shown } from "./definitionform.js";

/** @typedef {{ difference: Api.Difference[], lines: { severity: string, text: string }[], at_ms?: number | null }} Plan */

/** @type {Record<string, string>} */
const SYMBOLS = { info: "info", caution: "warning", danger: "error" };
/** @type {Record<string, string>} */
const WORDS = { info: gettext("Notice"), caution: gettext("Warning"), danger: gettext("Critical") };

export const fieldOf = (/** @type {string} */ name) =>
  page.fields.find((/** @type {Live.Field} */ field) => field.name === name);

/** Old and new values of what differs. */
function differenceTable(/** @type {Api.Difference[]} */ difference) {
  return h(
    "div",
    { class: "rc-scroll", tabindex: "0" },
    h(
      "table",
      { class: "rc-table rc-difference" },
      headRow([gettext("Field"), gettext("Before"), gettext("After")]),
      h(
        "tbody",
        {},
        difference.map(({ field, before, after }) => {
          const known = fieldOf(field);
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, known?.label ?? field),
            h("td", {}, h("del", {}, shown(known, before))),
            h("td", {}, h("ins", {}, shown(known, after))),
          );
        }),
      ),
    ),
  );
}

function planLines(/** @type {Plan} */ plan) {
  return h(
    "ul",
    { class: "rc-plan", "aria-label": gettext("What happens") },
    plan.lines.map((line) =>
      h(
        "li",
        { class: `rc-problem rc-problem-${{ info: "info", caution: "warning", danger: "critical" }[line.severity]}` },
        icon(SYMBOLS[line.severity]),
        h("p", {}, h("span", { class: "rc-sr" }, `${WORDS[line.severity]}: `), line.text),
      ),
    ),
  );
}

/** What a plan says, for the dialog that asks for the last click. */
function planBody(/** @type {Plan} */ plan) {
  return [
    plan.difference.length ? differenceTable(plan.difference) : null,
    planLines(plan),
    plan.at_ms
      ? h("p", { class: "rc-muted" }, fill(gettext("Counted at %(time)s."), { time: time(plan.at_ms) }))
      : null,
  ];
}

/** Ask for the last click, with a plan; the rest is as `ask` takes it. */
/** @param {{ plan: Plan } & Parameters<typeof ask>[0]} about */
export const planDialog = ({ plan, ...about }) => ask({ body: planBody(plan), wide: true, ...about });
