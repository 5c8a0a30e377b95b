// What a reconciliation found: groups that can be repaired, and the findings with what shows each.
import { get } from "../core/api.js";
import { h, headRow, replace, setText } from "../core/dom.js";
import { exact } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { downloadLinks } from "../parts/downloads.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { written } from "../time/timespan.js";
import { causeWords } from "./causes.js";
import { evidence, momentOf } from "./evidence.js";
import { groupRows } from "./findinggroups.js";
import { askRepair } from "./repair.js";
import { FINDINGS, GAPS, REPAIRS } from "./runwords.js";

/** @typedef {Record<string, string>} Values */
/** @typedef {{ repair: string, kind?: string, topic?: string, finding?: number }} Request */

export class FindingList {
  /** `path`: of the run; `changed()` when a repair has begun. */
  constructor(/** @type {string} */ path, /** @type {() => void} */ changed) {
    this.path = path;
    this.changed = changed;
    /** @type {Values} */
    this.values = { kind: "", topic: "", cause: "" };
    this.remember = (/** @type {Values} */ _values) => {};
    /** @type {Api.FindingShown[]} */
    this.rows = [];
    /** @type {Api.Detail | null} */
    this.run = null;
    this.key = "";
    /** @type {string | null} */
    this.next = null;
    this.kind = this.select(gettext("Kind"), "kind");
    this.topic = this.select(gettext("Topic"), "topic");
    this.cause = this.select(gettext("Cause"), "cause");
    this.groups = h("div", { class: "rc-groups" });
    this.body = h("tbody");
    this.count = h("span", { class: "rc-muted" });
    this.more = h(
      "button",
      { type: "button", class: "rc-button", onclick: () => this.load(true) },
      gettext("Load more"),
    );
    this.moreBox = h("div", { class: "rc-more" }, this.more);
    this.downloads = h("span", { class: "rc-actions rc-end" });
    const titles = [gettext("Finding"), gettext("Message"), gettext("Evidence"), gettext("Repair")];
    this.element = h(
      "section",
      { class: "rc-card rc-flush", "aria-label": gettext("Findings"), hidden: true },
      h(
        "header",
        { class: "rc-toolbar", "data-kind": "findings" },
        h("h2", { class: "rc-strong" }, gettext("Findings")),
        this.kind,
        this.topic,
        this.cause,
        this.count,
        this.downloads,
      ),
      this.groups,
      h(
        "div",
        { class: "rc-scroll rc-tall" },
        h("table", { class: "rc-table rc-findings" }, headRow(titles), this.body),
      ),
      this.moreBox,
    );
  }

  select(/** @type {string} */ label, /** @type {string} */ name) {
    return h("select", {
      class: "rc-select",
      name,
      "aria-label": label,
      onchange: (/** @type {any} */ event) => {
        this.values[name] = event.target.value;
        this.remember(this.values);
        this.load();
      },
    });
  }

  choose(/** @type {Values} */ values) {
    this.values = values;
    for (const select of [this.kind, this.topic, this.cause])
      select.value = values[/** @type {string} */ (select.name)] ?? "";
    this.remember(values);
    this.load();
  }

  filter(/** @type {Values} */ values, /** @type {(values: Values) => void} */ remember) {
    this.values = { kind: values.kind ?? "", topic: values.topic ?? "", cause: values.cause ?? "" };
    this.remember = remember;
    this.key = "";
    if (this.run) this.update(this.run);
  }

  update(/** @type {Api.Detail} */ run) {
    this.run = run;
    this.element.hidden = run.kind !== "reconcile" || run.state !== "done" || run.findings === 0;
    const key = JSON.stringify(run.groups);
    if (this.element.hidden || this.key === key) return;
    this.key = key;
    /**
     * @param {HTMLSelectElement} select
     * @param {string} all
     * @param {string[]} names
     * @param {(name: string) => string} words
     * @param {string} value
     */
    const options = (select, all, names, words, value) => {
      replace(
        select,
        h("option", { value: "" }, all),
        [...new Set(names)].map((name) => h("option", { value: name }, words(name))),
      );
      select.value = value;
    };
    options(
      this.kind,
      gettext("All kinds"),
      run.groups.map((each) => each.kind),
      (name) => FINDINGS[name] ?? name,
      this.values.kind,
    );
    options(
      this.topic,
      gettext("All topics"),
      run.groups.map((each) => each.topic),
      (name) => name,
      this.values.topic,
    );
    const causes = run.groups.flatMap((each) => each.causes.map(({ cause }) => cause));
    options(this.cause, gettext("All causes"), causes, causeWords, this.values.cause);
    this.cause.hidden = causes.length === 0;
    replace(
      this.groups,
      groupRows(
        run.groups,
        (request, label) => this.repairButton(request, label),
        (values) => this.choose(values),
      ),
    );
    this.showDownloads();
    this.load();
  }

  showDownloads() {
    const missing = page.grants.payload
      ? null
      : gettext("The report names ids: it needs the permission “read_payload”.");
    replace(this.downloads, downloadLinks(`${this.path}/report`, missing));
  }

  repairButton(/** @type {Request} */ request, /** @type {string} */ label) {
    const missing = page.grants.actions[request.repair === "drop_orphan" ? "drop" : "repair"];
    return guardedButton({ action: "repair", symbol: "healing", label, missing }, () =>
      askRepair(this.path, request, () => this.changed()),
    );
  }

  async load(/** @type {boolean} */ further = false) {
    try {
      const cursor = further ? this.next : null;
      /** @type {Api.Findings} */
      const found = await get(`${this.path}/findings`, { ...this.values, cursor });
      this.next = found.next;
      this.rows = further ? [...this.rows, ...found.findings] : found.findings;
      replace(
        this.body,
        this.rows.map((each) => this.line(each)),
      );
      this.moreBox.hidden = found.next === null;
      const beyond = this.run ? this.run.findings - this.run.listed : 0;
      setText(
        this.count,
        beyond > 0
          ? fill(gettext("%(n)s; %(beyond)s more are in the report only"), {
              n: exact(found.count),
              beyond: exact(beyond),
            })
          : exact(found.count),
      );
    } catch (problem) {
      toast(messageOf(problem), "error");
    }
  }

  line(/** @type {Api.FindingShown} */ each) {
    const href = `${topicAddress(each.topic)}message/?${new URLSearchParams({ id: each.id ?? "", slot: String(each.slot ?? "") })}`;
    const gap = each.kind === "journal_gap" ? (GAPS[each.evidence.reason] ?? each.evidence.advice) : null;
    const where =
      each.slot === null
        ? each.topic
        : fill(gettext("%(topic)s, slot %(slot)s"), { topic: each.topic, slot: each.slot });
    const at = momentOf(each.evidence);
    const moment = at === null ? "" : `${topicAddress(each.topic)}?${new URLSearchParams({ at: written(at) })}`;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, FINDINGS[each.kind] ?? each.kind),
      h(
        "td",
        {},
        each.id === null ? null : h("a", { class: "rc-link rc-mono rc-id", href }, each.id),
        h("div", { class: "rc-muted" }, where),
        moment ? h("a", { href: moment }, gettext("The topic at that moment")) : null,
      ),
      h("td", {}, gap ? h("p", { class: "rc-advice" }, gap) : null, repairedBefore(each), evidence(each.evidence)),
      h(
        "td",
        {},
        each.operation
          ? h("a", { href: `${page.places.operations}${each.operation}/` }, gettext("under repair, or repaired"))
          : each.repair === "none"
            ? h("span", { class: "rc-muted" }, REPAIRS.none)
            : this.repairButton({ repair: each.repair, finding: each.number }, `${REPAIRS[each.repair]}…`),
      ),
    );
  }
}

/** That a repair had sent it already, after an earlier run. */
function repairedBefore(/** @type {Api.FindingShown} */ { evidence: { repaired_by: operation } }) {
  if (typeof operation !== "string") return null;
  const href = `${page.places.operations}${operation}/`;
  return h("p", {}, h("a", { class: "rc-link", href }, gettext("Came back: an earlier repair was begun for it")));
}
