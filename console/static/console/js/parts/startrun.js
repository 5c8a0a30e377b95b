// Asking for a run of the pipeline, now or again and again.
import { h, replace } from "../core/dom.js";
import { post } from "../core/http.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { JOBS } from "./runwords.js";

const EVERY = [
  [3600, gettext("every hour")],
  [21600, gettext("every six hours")],
  [86400, gettext("every day")],
  [604800, gettext("every week")],
];

/** Open the dialog. `done(answer, scheduled)` is called when the server has accepted. */
export function askRun(done) {
  const kind = h(
    "select",
    { class: "rc-select", name: "kind", onchange: () => show() },
    Object.entries(JOBS).map(([value, label]) => h("option", { value }, label)),
  );
  const topics = h(
    "select",
    { class: "rc-select", name: "topics", multiple: true, size: Math.min(6, Math.max(2, page.topics.length)) },
    page.topics.map((name) => h("option", { value: name }, name)),
  );
  const ledger = h(
    "select",
    { class: "rc-select", name: "ledger" },
    h("option", { value: "" }, gettext("none")),
    page.ledgers.map((name) => h("option", { value: name }, name)),
  );
  const every = h(
    "select",
    { class: "rc-select", name: "every" },
    h("option", { value: "" }, gettext("once, now")),
    EVERY.map(([value, label]) => h("option", { value }, label)),
  );
  const reason = h("input", { class: "rc-input", name: "reason", maxlength: 500, autocomplete: "off" });
  const confirm = h("input", { class: "rc-input", name: "confirm", autocomplete: "off" });
  const problem = h("p", { class: "rc-error", role: "alert" });
  const about = h("p", { class: "rc-muted" });
  const ledgerBox = h("label", {}, gettext("Business ledger"), ledger);
  const everyBox = h("label", {}, gettext("When"), every);
  const confirmBox = h("label", {}, fill(gettext("Type “%(word)s” to confirm"), { word: "restore" }), confirm);
  const submit = h("button", { type: "submit", class: "rc-button rc-primary" }, gettext("Start"));
  const dialog = h("dialog", { class: "rc-dialog rc-wide", "aria-labelledby": "rc-run-title" });
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "rc-run-title" }, gettext("Start a run")),
    about,
    h(
      "div",
      { class: "rc-fields" },
      h("label", {}, gettext("Job"), kind),
      everyBox,
      ledgerBox,
      confirmBox,
      h("label", {}, gettext("Topics (none chosen: all)"), topics),
      h("label", {}, gettext("Reason"), reason),
    ),
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
    const body = {
      kind: kind.value,
      topics: [...topics.selectedOptions].map((option) => option.value),
      ledger: kind.value === "reconcile" ? ledger.value : "",
      reason: reason.value,
      confirm: confirm.value,
    };
    const scheduled = kind.value !== "restore" && every.value;
    try {
      const found = await (scheduled
        ? post(page.urls.schedule, { ...body, every_s: Number(every.value) })
        : post(page.urls.start, body));
      dialog.close();
      done(found, Boolean(scheduled));
    } catch (error) {
      replace(problem, error.message);
      submit.disabled = false;
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(form);
  document.body.append(dialog);
  show();
  dialog.showModal();

  function show() {
    replace(
      about,
      {
        reconcile: gettext(
          "Compares journals and archive with the live queues, and with the business's own ledger. Changes nothing.",
        ),
        archive: gettext("Brings what the journals hold into the archive; behind it the journals are trimmed."),
        restore: gettext(
          "Puts back what a lost server held, out of the archive. Run the archive first, where anything is left of the journals.",
        ),
      }[kind.value],
    );
    ledgerBox.hidden = kind.value !== "reconcile";
    everyBox.hidden = kind.value === "restore";
    confirmBox.hidden = kind.value !== "restore";
  }
}
