// Every bulk action: the newest first, those under way with a live bar.
import { param, setParams } from "../core/address.js";
import { byId, h, icon, replace, setText } from "../core/dom.js";
import { dateTime, exact, relative, time } from "../core/format.js";
import { get } from "../core/http.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { isLive, OPERATION_ACTIONS, OPERATION_STATES, phase, subject } from "../parts/operationwords.js";
import { Progress } from "../parts/progress.js";

const LIVE_MS = 1000;
const CALM_MS = 5000;
const FILTERS = [
  ["", gettext("All")],
  ["live", gettext("Under way")],
  ["ended", gettext("Ended")],
];

const COLUMNS = [
  [gettext("Operation")],
  [gettext("State")],
  [gettext("Progress")],
  [gettext("Who"), "rc-less"],
  [gettext("Started")],
];

let list = page.list;
let older = [];
let state = FILTERS.some(([name]) => name === param("state")) ? param("state") : "";
let timer = 0;
const rows = new Map();
const body = h("tbody");
const asOf = h("span", { class: "rc-as-of" });
const segments = h(
  "div",
  { class: "rc-segments", role: "group", "aria-label": gettext("State") },
  FILTERS.map(([name, label]) => h("button", { type: "button", dataset: { name }, onclick: () => choose(name) }, label)),
);
const more = h("button", { type: "button", class: "rc-button", onclick: loadMore }, gettext("Load more"));
const moreBox = h("div", { class: "rc-more" }, more);
const nothing = h(
  "div",
  { class: "rc-empty" },
  icon("playlist_play"),
  h("h2", {}, gettext("No operations")),
  h("p", {}, gettext("Bulk actions appear here: start one with “All matching…” on a topic's messages or dead letters.")),
);
const scroll = h(
  "div",
  { class: "rc-scroll" },
  h(
    "table",
    { class: "rc-table rc-operations" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        COLUMNS.map(([title, extra]) => h("th", { scope: "col", class: extra }, title)),
      ),
    ),
    body,
  ),
);

replace(
  byId("rc-page"),
  h("div", { class: "rc-head" }, segments, h("div", { class: "rc-status" }, asOf)),
  h("section", { class: "rc-card rc-flush", "aria-label": gettext("Operations") }, scroll, nothing, moreBox),
);

function choose(name) {
  state = name;
  older = [];
  setParams({ state });
  load();
}

async function load() {
  clearTimeout(timer);
  const wanted = state;
  try {
    const found = await get(page.urls.data, { state, topic: param("topic") });
    if (wanted !== state) return;
    list = found;
    byId("rc-page").classList.remove("rc-stale");
    show();
  } catch (problem) {
    byId("rc-page").classList.add("rc-stale");
    setText(asOf, `${problem.message} ${fill(gettext("as of %(time)s"), { time: time(list.as_of_ms) })}`);
    again();
  }
}

async function loadMore() {
  const shown = [...list.operations, ...older];
  const found = await get(page.urls.data, { state, topic: param("topic"), before: shown.at(-1).id });
  older = [...older, ...found.operations];
  list.more = found.more;
  show();
}

function again() {
  clearTimeout(timer);
  timer = setTimeout(() => (document.hidden ? again() : load()), list.operations.some(isLive) ? LIVE_MS : CALM_MS);
}

function show() {
  for (const button of segments.children) button.setAttribute("aria-pressed", String(button.dataset.name === state));
  setText(asOf, fill(gettext("as of %(time)s"), { time: time(list.as_of_ms) }));
  const newest = new Set(list.operations.map((operation) => operation.id));
  const all = [...list.operations, ...older.filter((operation) => !newest.has(operation.id))];
  nothing.hidden = all.length > 0;
  scroll.hidden = all.length === 0;
  moreBox.hidden = !list.more;
  const ids = new Set(all.map((operation) => operation.id));
  for (const [id, row] of rows)
    if (!ids.has(id)) {
      row.element.remove();
      rows.delete(id);
    }
  all.forEach((operation, at) => {
    if (!rows.has(operation.id)) rows.set(operation.id, new Row(operation));
    const row = rows.get(operation.id);
    if (body.children[at] !== row.element) body.insertBefore(row.element, body.children[at] ?? null);
    row.update(operation);
  });
  again();
}

class Row {
  constructor(operation) {
    const title = OPERATION_ACTIONS[operation.action] ?? operation.action;
    this.tag = h("span");
    this.phase = h("div", { class: "rc-muted rc-phase" });
    this.progress = new Progress(title);
    this.counts = h("div", { class: "rc-muted" });
    this.when = h("time");
    this.element = h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "rc-operation-name" },
        h(
          "a",
          { class: "rc-topic-link", href: `${page.root}operations/${operation.id}/` },
          `${title} · ${operation.topic}`,
        ),
        h("div", { class: "rc-muted rc-operation-query" }, subject(operation)),
      ),
      h("td", {}, this.tag, this.phase),
      h("td", { class: "rc-operation-progress" }, this.progress.element, this.counts),
      h("td", { class: "rc-less" }, operation.user, h("div", { class: "rc-muted rc-operation-query" }, operation.reason)),
      h("td", {}, this.when),
    );
  }

  update(now) {
    this.tag.className = `rc-tag rc-tag-${now.state}`;
    setText(this.tag, OPERATION_STATES[now.state]);
    setText(this.phase, now.error || phase(now, list.as_of_ms));
    this.progress.update(now);
    const left = [
      now.skipped ? fill(gettext("%(n)s skipped"), { n: exact(now.skipped) }) : null,
      now.failed ? fill(gettext("%(n)s failed"), { n: exact(now.failed) }) : null,
    ];
    setText(this.counts, left.filter(Boolean).join(" · "));
    const at = now.started_ms ?? now.created_ms;
    setText(this.when, relative(at, list.as_of_ms));
    this.when.title = dateTime(at);
  }
}

if (state) load();
else show();
