// Asking for a run of the pipeline, now or again and again.
import { post } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";
import { ask } from "./ask.js";
import { JOBS } from "./runwords.js";

/** @type {[number, string][]} */
const EVERY = [
  [3600, gettext("every hour")],
  [21600, gettext("every six hours")],
  [86400, gettext("every day")],
  [604800, gettext("every week")],
];

/** Open the dialog. `done(answer, scheduled)` is called when the server has accepted. */
export function askRun(/** @type {(answer: Api.Run | Api.Schedule, scheduled: boolean) => void} */ done) {
  const kind = h(
    "select",
    { class: "rc-select", name: "kind", onchange: () => show() },
    Object.entries(JOBS).map(([value, label]) => h("option", { value }, label)),
  );
  const topics = h(
    "select",
    { class: "rc-select", name: "topics", multiple: true, size: Math.min(6, Math.max(2, page.topics.length)) },
    page.topics.map((/** @type {string} */ name) => h("option", { value: name }, name)),
  );
  const ledger = h(
    "select",
    { class: "rc-select", name: "ledger" },
    h("option", { value: "" }, gettext("none")),
    page.ledgers.map((/** @type {string} */ name) => h("option", { value: name }, name)),
  );
  const every = h(
    "select",
    { class: "rc-select", name: "every" },
    h("option", { value: "" }, gettext("once, now")),
    EVERY.map(([value, label]) => h("option", { value }, label)),
  );
  const about = h("p", { class: "rc-muted" });
  const ledgerBox = h("label", {}, gettext("Business ledger"), ledger);
  const everyBox = h("label", {}, gettext("When"), every);
  const dialog = ask({
    title: gettext("Start a run"),
    body: [
      about,
      h(
        "div",
        { class: "rc-fields" },
        h("label", {}, gettext("Job"), kind),
        everyBox,
        ledgerBox,
        h("label", {}, gettext("Topics (none chosen: all)"), topics),
      ),
    ],
    label: gettext("Start"),
    wide: true,
    reason: "optional",
    confirmWord: "restore",
    focus: kind,
    submit: async ({ reason, confirm }) => {
      const body = {
        kind: kind.value,
        topics: [...topics.selectedOptions].map((option) => option.value),
        ledger: kind.value === "reconcile" ? ledger.value : "",
        reason,
      };
      const scheduled = kind.value !== "restore" && every.value;
      const found = await (scheduled
        ? post("reconciliations/schedules", { ...body, every_ms: 1000 * Number(every.value) })
        : post("reconciliations", { ...body, confirm }));
      done(found, Boolean(scheduled));
    },
  });
  show();

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
    dialog.needsWord(kind.value === "restore");
  }
}
