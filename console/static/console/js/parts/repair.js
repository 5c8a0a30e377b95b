// Repairing what was found: first what it would do, then why, then it is done as operations.
import { h, replace } from "../core/dom.js";
import { exact } from "../core/format.js";
import { post } from "../core/http.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { OUTCOMES, REPAIRS } from "./runwords.js";

/** `order`: {repair, kind, topic} or {repair, finding}. */
export async function askRepair(order, done) {
  const seen = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" }, gettext("Looking…"));
  const reason = h("input", { class: "rc-input", name: "reason", maxlength: 500, required: true, autocomplete: "off" });
  const problem = h("p", { class: "rc-error", role: "alert" });
  const submit = h("button", { type: "submit", class: "rc-button rc-primary", disabled: true }, gettext("Repair"));
  const dialog = h("dialog", { class: "rc-dialog", "aria-labelledby": "rc-repair-title" });
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "rc-repair-title" }, REPAIRS[order.repair]),
    h("p", {}, gettext("A dry run: nothing has been changed yet.")),
    seen,
    h("label", {}, gettext("Reason"), reason),
    problem,
    h(
      "div",
      { class: "rc-dialog-buttons" },
      h("button", { type: "button", class: "rc-button", onclick: () => dialog.close() }, gettext("Back")),
      submit,
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const { operations } = await post(page.urls.repair, { ...order, reason: reason.value });
      dialog.close();
      if (operations.length === 1) location.assign(`${page.urls.operations}${operations[0].id}/`);
      else {
        toast(gettext("The repair runs as operations, one for each topic."), "success");
        done();
      }
    } catch (error) {
      replace(problem, error.message);
      submit.disabled = false;
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  reason.focus();
  try {
    const found = await post(page.urls.preview, order);
    replace(seen, sentences(found));
    submit.disabled = !found.outcomes.done;
  } catch (error) {
    replace(seen, h("p", { class: "rc-error" }, error.message));
  }
}

function sentences(found) {
  const lines = Object.entries(OUTCOMES)
    .filter(([name]) => found.outcomes[name])
    .map(([name, words]) => h("div", {}, h("strong", {}, exact(found.outcomes[name])), ` ${words}`));
  const looked =
    found.looked_at < found.count
      ? h("div", { class: "rc-muted" }, fill(gettext("of the first %(n)s looked at"), { n: exact(found.looked_at) }))
      : null;
  const examples = found.examples.filter((each) => each.id !== null);
  return [
    h(
      "div",
      {},
      fill(ngettext("%(n)s message is meant.", "%(n)s messages are meant.", found.count), { n: exact(found.count) }),
    ),
    ...lines,
    looked,
    examples.length
      ? h(
          "ul",
          { class: "rc-examples" },
          examples.map((each) => h("li", { class: "rc-mono" }, each.id)),
        )
      : null,
  ];
}
