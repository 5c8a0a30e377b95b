// Runs of the pipeline: history with live bars, schedules, and the figures from run to run.
import { byId, h, icon, replace, setText } from "../core/dom.js";
import { dateTime, duration, relative, time } from "../core/format.js";
import { get, post } from "../core/http.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { RunBar } from "../parts/runbar.js";
import { RunCharts } from "../parts/runcharts.js";
import { isLive, JOBS, outcome, RUN_STATES, scope } from "../parts/runwords.js";
import { askRun } from "../parts/startrun.js";

const LIVE_MS = 1000;
const CALM_MS = 5000;
let list = page.list;
let older = [];
let timer = 0;
const rows = new Map();
const body = h("tbody");
const asOf = h("span", { class: "rc-as-of" });
const missing = page.grants.actions.reconcile;
const start = h(
  "button",
  {
    type: "button",
    class: "rc-button rc-primary",
    "aria-disabled": missing ? "true" : null,
    title: missing,
    onclick: () => (missing ? toast(missing, "error") : askRun(begun)),
  },
  icon("play_arrow"),
  gettext("Start a run"),
);
const more = h("button", { type: "button", class: "rc-button", onclick: loadMore }, gettext("Load more"));
const moreBox = h("div", { class: "rc-more" }, more);
const nothing = h(
  "div",
  { class: "rc-empty" },
  icon("fact_check"),
  h("h2", {}, gettext("No runs yet")),
  h("p", {}, gettext("A reconciliation says whether every message did what it should, for topics whose journal is on.")),
);
const columns = [gettext("Run"), gettext("State"), gettext("Progress"), gettext("Outcome"), gettext("Started")];
const scroll = h(
  "div",
  { class: "rc-scroll" },
  h(
    "table",
    { class: "rc-table rc-operations" },
    h("thead", {}, h("tr", {}, columns.map((title) => h("th", { scope: "col" }, title)))),
    body,
  ),
);
const schedules = h("section", { class: "rc-card", "aria-label": gettext("Schedules") });
const charts = new RunCharts();

replace(
  byId("rc-page"),
  h("div", { class: "rc-head" }, start, h("div", { class: "rc-status" }, asOf)),
  h("section", { class: "rc-card rc-flush", "aria-label": gettext("Runs") }, scroll, nothing, moreBox),
  schedules,
  charts.element,
);

function begun(found, scheduled) {
  if (scheduled) load();
  else location.assign(`${page.urls.runs}${found.id}/`);
}

async function load() {
  clearTimeout(timer);
  try {
    list = await get(page.urls.data);
    byId("rc-page").classList.remove("rc-stale");
    show();
  } catch (problem) {
    byId("rc-page").classList.add("rc-stale");
    setText(asOf, `${problem.message} ${fill(gettext("as of %(time)s"), { time: time(list.as_of_ms) })}`);
    again();
  }
}

async function loadMore() {
  const shown = [...list.runs, ...older];
  const found = await get(page.urls.data, { before: shown.at(-1).id });
  older = [...older, ...found.runs];
  list.more = found.more;
  show();
}

function again() {
  clearTimeout(timer);
  timer = setTimeout(() => (document.hidden ? again() : load()), list.runs.some(isLive) ? LIVE_MS : CALM_MS);
}

function show() {
  setText(asOf, fill(gettext("as of %(time)s"), { time: time(list.as_of_ms) }));
  const newest = new Set(list.runs.map((run) => run.id));
  const all = [...list.runs, ...older.filter((run) => !newest.has(run.id))];
  nothing.hidden = all.length > 0;
  scroll.hidden = all.length === 0;
  moreBox.hidden = !list.more;
  all.forEach((run, at) => {
    if (!rows.has(run.id)) rows.set(run.id, new Row(run));
    const row = rows.get(run.id);
    if (body.children[at] !== row.element) body.insertBefore(row.element, body.children[at] ?? null);
    row.update(run);
  });
  showSchedules();
  charts.update(list.trend);
  again();
}

class Row {
  constructor(run) {
    this.tag = h("span");
    this.bar = new RunBar(JOBS[run.kind]);
    this.outcome = h("td", { class: "rc-operation-query" });
    this.when = h("time");
    this.element = h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "rc-operation-name" },
        h("a", { class: "rc-topic-link", href: `${page.urls.runs}${run.id}/` }, JOBS[run.kind]),
        h("div", { class: "rc-muted rc-operation-query" }, scope(run)),
      ),
      h("td", {}, this.tag),
      h("td", { class: "rc-operation-progress" }, this.bar.element),
      this.outcome,
      h("td", {}, this.when, h("div", { class: "rc-muted" }, run.scheduled ? gettext("by schedule") : run.user)),
    );
  }

  update(run) {
    this.tag.className = `rc-tag rc-tag-${run.state}`;
    setText(this.tag, RUN_STATES[run.state]);
    this.bar.update(run);
    setText(this.outcome, outcome(run));
    const at = run.started_ms ?? run.created_ms;
    setText(this.when, relative(at, list.as_of_ms));
    this.when.title = dateTime(at);
  }
}

function showSchedules() {
  const key = JSON.stringify(list.schedules);
  if (schedules.dataset.key === key) return;
  schedules.dataset.key = key;
  schedules.hidden = list.schedules.length === 0;
  replace(
    schedules,
    h("header", {}, h("h2", {}, gettext("Schedules"))),
    h(
      "ul",
      { class: "rc-schedules" },
      list.schedules.map((each) =>
        h(
          "li",
          {},
          h("strong", {}, JOBS[each.kind]),
          ` ${scope(each)} · ${fill(gettext("every %(time)s"), { time: duration(each.every_s * 1000) })} · `,
          each.enabled ? fill(gettext("next %(time)s"), { time: dateTime(each.next_ms) }) : gettext("rests"),
          h(
            "span",
            { class: "rc-actions rc-end" },
            change(each.enabled ? gettext("Let it rest") : gettext("Go on"), { id: each.id, enabled: !each.enabled }),
            change(gettext("Delete"), { id: each.id, delete: true }),
          ),
        ),
      ),
    ),
  );
}

function change(label, values) {
  const lacking = page.grants.actions.schedule;
  return h(
    "button",
    {
      type: "button",
      class: "rc-button",
      "aria-disabled": lacking ? "true" : null,
      title: lacking,
      onclick: async () => {
        if (lacking) {
          toast(lacking, "error");
          return;
        }
        try {
          await post(page.urls.schedule, values);
          await load();
        } catch (problem) {
          toast(problem.message, "error");
        }
      },
    },
    label,
  );
}

show();
