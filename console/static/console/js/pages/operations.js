// Every bulk action: the newest first, those under way with a live bar.
import { param } from "../core/address.js";
import { get } from "../core/api.js";
import { byId, h, replace, setText } from "../core/dom.js";
import { exact } from "../core/format.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { isLive, OPERATION_ACTIONS, OPERATION_STATES, phase, subject } from "../operations/operationwords.js";
import { Progress } from "../operations/progress.js";
import { Choice } from "../parts/choice.js";
import { LiveList, nameCell, showStart } from "../parts/livelist.js";

/** @type {[string, string][]} */
const FILTERS = [
  ["", gettext("All")],
  ["live", gettext("Under way")],
  ["ended", gettext("Ended")],
];

class Row {
  constructor(/** @type {Api.OperationView} */ operation) {
    const title = OPERATION_ACTIONS[operation.action] ?? operation.action;
    this.tag = h("span");
    this.phase = h("div", { class: "rc-muted rc-phase" });
    this.progress = new Progress(title);
    this.counts = h("div", { class: "rc-muted" });
    this.when = h("time");
    this.element = h(
      "tr",
      {},
      nameCell(`${page.root}operations/${operation.id}/`, `${title} · ${operation.topic}`, subject(operation)),
      h("td", {}, this.tag, this.phase),
      h("td", { class: "rc-operation-progress" }, this.progress.element, this.counts),
      h(
        "td",
        { class: "rc-less" },
        operation.who,
        h("div", { class: "rc-muted rc-operation-query" }, operation.reason),
      ),
      h("td", {}, this.when),
    );
  }

  update(/** @type {Api.OperationView} */ operation, /** @type {number} */ now) {
    this.tag.className = `rc-tag rc-tag-${operation.state}`;
    setText(this.tag, OPERATION_STATES[operation.state]);
    setText(this.phase, operation.error || phase(operation, now));
    this.progress.update(operation);
    const left = [
      operation.skipped ? fill(gettext("%(n)s skipped"), { n: exact(operation.skipped) }) : null,
      operation.failed ? fill(gettext("%(n)s failed"), { n: exact(operation.failed) }) : null,
    ];
    setText(this.counts, left.filter(Boolean).join(" · "));
    showStart(this.when, operation, now);
  }
}

const state = new Choice(gettext("State"), "state", FILTERS, () => list.restart());
const list = new LiveList({
  ask: async (query) => {
    /** @type {Api.Operations} */
    const { operations, ...rest } = await get("operations", query);
    return { ...rest, rows: operations };
  },
  Row,
  isLive,
  params: () => ({ state: state.value, topic: param("topic") }),
  label: gettext("Operations"),
  columns: [
    [gettext("Operation")],
    [gettext("State")],
    [gettext("Progress")],
    [gettext("Who"), "rc-less"],
    [gettext("Started")],
  ],
  empty: [
    "playlist_play",
    gettext("No operations"),
    gettext("Bulk actions appear here: start one with “All matching…” on a topic's messages or dead letters."),
  ],
});

replace(
  byId("rc-page"),
  h("div", { class: "rc-head" }, state.element, h("div", { class: "rc-status" }, list.asOf)),
  list.element,
);
