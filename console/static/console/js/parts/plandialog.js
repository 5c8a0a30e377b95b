// What a change would do, before it is done: the differences, the consequences, the reason, and the last click.
import { h, icon, replace } from "../core/dom.js";
import { time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { shown } from "./definitionform.js";

const SYMBOLS = { info: "info", caution: "warning", danger: "error" };
const WORDS = { info: gettext("Notice"), caution: gettext("Warning"), danger: gettext("Critical") };

export const fieldOf = (name) => page.fields.find((field) => field.name === name);

/** Old and new values of what differs. */
export function differenceTable(difference) {
  return h(
    "div",
    { class: "rc-scroll", tabindex: "0" },
    h(
      "table",
      { class: "rc-table rc-difference" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          [gettext("Field"), gettext("Before"), gettext("After")].map((title) => h("th", { scope: "col" }, title)),
        ),
      ),
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

export function planLines(plan) {
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

/**
 * Ask for the last click. `submit({reason, confirm})` does it; what it throws is shown, and false leaves the dialog open.
 * `confirmName`: has to be typed; `reason`: "needed", "optional" or null.
 */
export function planDialog({ title, plan, label, danger = false, reason = "needed", confirmName = null, submit }) {
  const dialog = h("dialog", { class: "rc-dialog rc-wide", "aria-labelledby": "rc-plan-title" });
  const why = h("input", {
    class: "rc-input",
    name: "reason",
    maxlength: 500,
    required: reason === "needed",
    autocomplete: "off",
  });
  const name = confirmName
    ? h("input", { class: "rc-input", name: "confirm", required: true, autocomplete: "off" })
    : null;
  const error = h("p", { class: "rc-error", role: "alert", hidden: true });
  const button = h("button", { type: "submit", class: `rc-button rc-primary${danger ? " rc-danger" : ""}` }, label);
  const check = () => (button.disabled = Boolean(name) && name.value !== confirmName);
  name?.addEventListener("input", check);
  check();
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "rc-plan-title" }, title),
    plan.difference.length ? differenceTable(plan.difference) : null,
    planLines(plan),
    plan.at_ms
      ? h("p", { class: "rc-muted" }, fill(gettext("Counted at %(time)s."), { time: time(plan.at_ms) }))
      : null,
    name ? h("label", {}, fill(gettext("Type %(name)s to confirm"), { name: confirmName }), name) : null,
    reason ? h("label", {}, reason === "needed" ? gettext("Reason") : gettext("Reason (optional)"), why) : null,
    error,
    h(
      "div",
      { class: "rc-dialog-buttons" },
      h("button", { type: "button", class: "rc-button", onclick: () => dialog.close() }, gettext("Back")),
      button,
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      if ((await submit({ reason: why.value, confirm: name?.value ?? "" })) !== false) dialog.close();
    } catch (problem) {
      replace(error, problem.message);
      error.hidden = false;
    } finally {
      check();
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  (name ?? (reason ? why : button)).focus();
  return dialog;
}
