// Asking for a run of the pipeline, now or again and again; and for another schedule.
import { patch, post } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { duration } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { inZone, momentOf } from "../core/zone.js";
import { ask } from "../parts/ask.js";
import { JOBS, STARTED } from "./runwords.js";

/** @type {[number, string][]} */
const EVERY = [
  [60, gettext("every minute")],
  [300, gettext("every five minutes")],
  [900, gettext("every quarter of an hour")],
  [3600, gettext("every hour")],
  [21600, gettext("every six hours")],
  [86400, gettext("every day")],
  [604800, gettext("every week")],
];

/** @type {Record<string, string>} */
const ABOUT = {
  reconcile: gettext(
    "Compares journals and archive with the live queues, and with the business's own ledger. Changes nothing.",
  ),
  archive: gettext("Brings what the journals hold into the archive; behind it the journals are trimmed."),
  restore: gettext(
    "Puts back what a lost server held, out of the archive. Run the archive first, where anything is left of the journals.",
  ),
};

/** Open the dialog. `done(answer, scheduled)` is called when the server has accepted. */
export function askRun(/** @type {(answer: Api.Run | Api.Schedule, scheduled: boolean) => void} */ done) {
  const form = new Form(STARTED, [["", gettext("once, now")], ...EVERY]);
  const dialog = ask({
    title: gettext("Start a run"),
    body: form.body,
    label: gettext("Start"),
    wide: true,
    reason: "optional",
    confirmWord: "restore",
    focus: form.kind,
    submit: async ({ reason, confirm }) => {
      const body = { ...form.values(), reason };
      const scheduled = body.kind !== "restore" && form.every.value;
      const found = await (scheduled
        ? post("reconciliations/schedules", { ...body, every_ms: form.everyMs() })
        : post("reconciliations", { ...body, ...form.ofJob(), confirm }));
      done(found, Boolean(scheduled));
    },
  });
  form.show(() => dialog.needsWord(form.changesQueues()));
}

/** Open the dialog for a schedule that is there. `done()` is called when the server has accepted. */
export function askSchedule(/** @type {Api.Schedule} */ known, /** @type {() => void} */ done) {
  const seconds = known.every_ms / 1000;
  const own = fill(gettext("every %(time)s"), { time: duration(known.every_ms) });
  /** @type {[number, string][]} */
  const every = EVERY.some(([value]) => value === seconds) ? EVERY : [[seconds, own], ...EVERY];
  const form = new Form(["reconcile", "archive"], every);
  form.fill(known);
  ask({
    title: gettext("Edit the schedule"),
    body: form.body,
    label: gettext("Save"),
    wide: true,
    reason: "optional",
    focus: form.every,
    submit: async ({ reason }) => {
      const body = { ...form.values(), every_ms: form.everyMs(), reason };
      await patch(`reconciliations/schedules/${known.id}`, body, known.etag);
      done();
    },
  });
  form.show(() => {});
}

class Form {
  constructor(/** @type {string[]} */ kinds, /** @type {[string | number, string][]} */ every) {
    this.kind = select(
      "kind",
      kinds.map((value) => /** @type {[string, string]} */ ([value, JOBS[value]])),
    );
    this.topics = h(
      "select",
      { class: "rc-select", name: "topics", multiple: true, size: Math.min(6, Math.max(2, page.topics.length)) },
      page.topics.map((/** @type {string} */ name) => h("option", { value: name }, name)),
    );
    this.ledger = select("ledger", [
      ["", gettext("none")],
      ...page.ledgers.map((/** @type {string} */ name) => /** @type {[string, string]} */ ([name, name])),
    ]);
    this.every = select("every", every);
    this.dry = h("input", { type: "checkbox", name: "dry_run" });
    this.into = h("input", { class: "rc-input rc-mono", name: "into", maxlength: 64, autocomplete: "off" });
    this.at = h("input", { class: "rc-input", type: "datetime-local", step: 1, name: "at" });
    this.scratch = h("input", { type: "checkbox", name: "from_scratch" });
    this.scratchBox = h(
      "label",
      { class: "rc-check" },
      this.scratch,
      gettext("From scratch: read all of the archive, whatever the run before knew"),
    );
    this.restoreBoxes = [
      h("label", {}, gettext("Rehearse in another namespace (empty: put back into this one)"), this.into),
      h("label", {}, inZone(gettext("As it was at (empty: now)")), this.at),
      h("label", { class: "rc-check" }, this.dry, gettext("Only count")),
    ];
    this.about = h("p", { class: "rc-muted" });
    this.ledgerBox = h("label", {}, gettext("Business ledger"), this.ledger);
    this.everyBox = h("label", {}, gettext("When"), this.every);
    this.body = [
      this.about,
      h(
        "div",
        { class: "rc-fields" },
        h("label", {}, gettext("Job"), this.kind),
        this.everyBox,
        this.ledgerBox,
        ...this.restoreBoxes,
        h("label", {}, gettext("Topics (none chosen: all)"), this.topics),
      ),
      this.scratchBox,
    ];
  }

  /** What a schedule says; also a topic or a ledger that is gone, so that saving drops nothing unseen. */
  fill(/** @type {Api.Schedule} */ known) {
    for (const name of known.topics.filter((each) => !page.topics.includes(each)))
      this.topics.append(h("option", { value: name }, name));
    if (known.ledger && !page.ledgers.includes(known.ledger))
      this.ledger.append(h("option", { value: known.ledger }, known.ledger));
    for (const option of this.topics.options) option.selected = known.topics.includes(option.value);
    this.kind.value = known.kind;
    this.ledger.value = known.ledger;
    this.every.value = String(known.every_ms / 1000);
  }

  /** Show what fits the job, now and whenever another one is chosen. */
  show(/** @type {() => void} */ chosen) {
    const choose = () => {
      replace(this.about, ABOUT[this.kind.value]);
      this.ledgerBox.hidden = this.kind.value !== "reconcile";
      this.everyBox.hidden = this.kind.value === "restore";
      this.scratchBox.hidden = !this.mayBeginAnew();
      for (const box of this.restoreBoxes) box.hidden = this.kind.value !== "restore";
      // What was there at a moment goes nowhere but into a namespace of its own.
      this.at.disabled = !this.into.value.trim();
      chosen();
    };
    for (const field of [this.kind, this.every, this.dry, this.into]) field.addEventListener("input", choose);
    choose();
  }

  changesQueues() {
    return this.kind.value === "restore" && !this.dry.checked && !this.into.value.trim();
  }

  /** What a schedule repeats goes on from the run before. */
  mayBeginAnew() {
    return this.kind.value === "reconcile" && !this.every.value;
  }

  /** What is particular to a job that is done once. */
  ofJob() {
    if (this.mayBeginAnew()) return { from_scratch: this.scratch.checked };
    if (this.kind.value !== "restore") return {};
    const at = this.at.disabled ? "" : this.at.value;
    return {
      dry_run: this.dry.checked,
      into: this.into.value.trim(),
      ...(at ? { at_ms: momentOf(at) } : {}),
    };
  }

  values() {
    return {
      kind: this.kind.value,
      topics: [...this.topics.selectedOptions].map((option) => option.value),
      ledger: this.kind.value === "reconcile" ? this.ledger.value : "",
    };
  }

  everyMs() {
    return 1000 * Number(this.every.value);
  }
}

function select(/** @type {string} */ name, /** @type {[string | number, string][]} */ options) {
  return h(
    "select",
    { class: "rc-select", name },
    options.map(([value, label]) => h("option", { value }, label)),
  );
}
