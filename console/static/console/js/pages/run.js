// One run of the pipeline: how far it is, what it found, and the repair of that.
import { param, setParams } from "../core/address.js";
import { get, post } from "../core/api.js";
import { byId, h, headRow, replace, setText } from "../core/dom.js";
import { dateTime, duration, exact, NONE, time } from "../core/format.js";
import "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { pairList } from "../parts/failure.js";
import { FindingList } from "../parts/findinglist.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { RunBar } from "../parts/runbar.js";
import { FINDINGS, GAPS, isLive, JOBS, outcome, RUN_STATES, STAGES, scope } from "../parts/runwords.js";

/** @import { Pair } from "../parts/failure.js" */

const REFRESH_MS = 500;
const path = `reconciliations/${page.ident}`;
/** @type {Api.Detail} */
let run = await get(path);
let timer = 0;

const tag = h("span");
const asOf = h("span", { class: "rc-as-of" });
const words = h("p", { class: "rc-phase", role: "status", "aria-live": "polite" });
const bar = new RunBar(gettext("Progress"));
const stages = h("ol", { class: "rc-stages" });
const buttons = h("span", { class: "rc-actions" });
const facts = h("section", { class: "rc-card", "aria-label": gettext("What was asked for") });
const figures = h("section", { class: "rc-card rc-flush", "aria-label": gettext("Topics") });
const found = new FindingList(path, () => load());
const logText = h("pre", { class: "rc-log", tabindex: "0" });
const logBox = h("details", { class: "rc-card", ontoggle: () => loadLog() }, h("summary", {}, gettext("Log")), logText);

replace(
  byId("rc-page"),
  h(
    "div",
    { class: "rc-head" },
    h("a", { href: page.places.reconciliation }, gettext("All runs")),
    h("div", { class: "rc-status" }, asOf),
  ),
  h(
    "section",
    { class: "rc-card", "aria-label": gettext("Progress") },
    h("header", {}, h("h2", {}, `${JOBS[run.kind]} · ${scope(run)} `, tag), buttons),
    bar.element,
    stages,
    words,
  ),
  found.element,
  figures,
  facts,
  logBox,
);
show();

async function load() {
  clearTimeout(timer);
  try {
    run = await get(path);
    byId("rc-page").classList.remove("rc-stale");
    show();
  } catch (problem) {
    byId("rc-page").classList.add("rc-stale");
    setText(asOf, `${messageOf(problem)} ${fill(gettext("as of %(time)s"), { time: time(run.as_of_ms) })}`);
    again();
  }
}

function again() {
  clearTimeout(timer);
  timer = setTimeout(() => (document.hidden ? again() : load()), REFRESH_MS);
}

async function loadLog() {
  if (!logBox.open) return;
  try {
    setText(logText, (await get(`${path}/log`)).log || gettext("Nothing was printed."));
    logText.scrollTop = logText.scrollHeight;
  } catch (problem) {
    setText(logText, messageOf(problem));
  }
}

function show() {
  tag.className = `rc-tag rc-tag-${run.state}`;
  setText(tag, RUN_STATES[run.state]);
  setText(asOf, fill(gettext("as of %(time)s"), { time: time(run.as_of_ms) }));
  bar.update(run);
  const said = outcome(run);
  setText(words, said);
  words.hidden = !said;
  words.classList.toggle("rc-error", Boolean(run.error));
  showStages();
  showButtons();
  showFacts();
  showFigures();
  found.update(run);
  if (isLive(run)) again();
  if (isLive(run)) loadLog();
}

function showStages() {
  replace(
    stages,
    run.stages.map((stage, at) => {
      const until = run.stages[at + 1]?.since_ms ?? run.finished_ms ?? run.as_of_ms;
      return h(
        "li",
        {},
        STAGES[stage.name] ?? stage.name,
        h("span", { class: "rc-muted" }, ` ${duration(Math.max(0, until - stage.since_ms))}`),
      );
    }),
  );
}

function showButtons() {
  if (buttons.dataset.key === run.state) return;
  buttons.dataset.key = run.state;
  const missing = page.grants.actions[run.kind === "restore" ? "restore_all" : run.kind];
  const stop = async () => {
    try {
      await post(`${path}:stop`);
      await load();
    } catch (problem) {
      toast(messageOf(problem), "error");
    }
  };
  replace(
    buttons,
    ["queued", "running"].includes(run.state)
      ? guardedButton({ action: "stop", symbol: "stop_circle", label: gettext("Stop"), missing }, stop)
      : null,
  );
}

function showFacts() {
  const other = (/** @type {string} */ id) =>
    h("a", { href: `${page.places.reconciliation}${id}/` }, gettext("this run"));
  const changes = Object.entries(run.changes ?? {}).map(([kind, each]) =>
    h(
      "div",
      {},
      `${FINDINGS[kind] ?? kind}: `,
      fill(gettext("%(appeared)s new, %(stayed)s still there, %(gone)s gone"), {
        appeared: exact(each.appeared),
        stayed: exact(each.stayed),
        gone: exact(each.gone),
      }),
    ),
  );
  const gaps = run.gaps
    .slice(0, 10)
    .map((gap) =>
      h(
        "div",
        {},
        `${[gap.topic, gap.slot].filter((each) => each !== null).join(" ")}: ${GAPS[gap.reason] ?? gap.reason ?? ""}`,
      ),
    );
  const left = run.ledger_left_out;
  const others = left
    ? fill(gettext("%(rows)s rows are about other topics (%(topics)s) and were left out."), {
        rows: exact(left.rows),
        topics: Object.keys(left.topics).join(", "),
      })
    : "";
  /** @type {Pair[]} */
  const all = [
    [gettext("Topics"), scope(run)],
    [gettext("What was read"), run.read ? read(/** @type {Read} */ (run.read)) : ""],
    [gettext("Nothing is said of, for their journal is off"), run.without_journal.join(", ")],
    [gettext("Business ledger"), [run.ledger, others].filter(Boolean).join(" · ")],
    [gettext("Reason"), run.reason],
    [
      gettext("Who"),
      run.via === "schedule" ? fill(gettext("the schedule of %(who)s"), { who: run.user }) : `${run.user} (${run.via})`,
    ],
    [gettext("Created"), dateTime(run.created_ms)],
    [gettext("Started"), run.started_ms ? dateTime(run.started_ms) : ""],
    [gettext("Finished"), run.finished_ms ? dateTime(run.finished_ms) : ""],
    [gettext("Compared with"), run.compared_with ? other(run.compared_with) : ""],
    [gettext("Changes"), changes.length ? changes : ""],
    [
      gettext("What to know"),
      run.restored?.said.length ? run.restored.said.map((/** @type {string} */ each) => h("div", {}, each)) : "",
    ],
    [gettext("Gaps in journals"), gaps.length ? gaps : ""],
  ];
  replace(facts, pairList(all.filter(([, value]) => value)));
}

/** @typedef {{events: number, known: number, from_scratch: Record<string, string>}} Read */
/** @param {Read} said */
function read(said) {
  const lines = [
    fill(gettext("%(new)s transitions; %(known)s were known from the run before"), {
      new: exact(said.events),
      known: exact(said.known),
    }),
  ];
  const whole = Object.keys(said.from_scratch);
  if (said.known && whole.length)
    lines.push(fill(gettext("Read from the beginning: %(topics)s"), { topics: whole.slice(0, 20).join(", ") }));
  return lines.map((line) => h("div", {}, line));
}

function showFigures() {
  figures.hidden = run.tables.length === 0;
  if (figures.dataset.number === String(run.tables.length)) return;
  figures.dataset.number = String(run.tables.length);
  const ms = (/** @type {number | null | undefined} */ value) =>
    value === null || value === undefined ? NONE : duration(value);
  /** @type {[string, (row: any) => any][]} */
  const columns = [
    [gettext("Sent"), (row) => exact(row.sent)],
    [gettext("Done"), (row) => exact(row.acked)],
    [gettext("Merged"), (row) => exact(row.merged)],
    [gettext("Retries"), (row) => exact(row.retried)],
    [gettext("Died"), (row) => exact(row.died)],
    [gettext("Lateness p99"), (row) => ms(row.lateness_p99_ms)],
    [gettext("End to end p99"), (row) => ms(row.end_to_end_p99_ms)],
    [gettext("Slot skew"), (row) => (row.slot_skew ? `× ${Math.round(row.slot_skew * 100) / 100}` : NONE)],
    [gettext("Causes of death"), causes],
  ];
  replace(
    figures,
    h(
      "div",
      { class: "rc-scroll" },
      h(
        "table",
        { class: "rc-table" },
        headRow([gettext("Topic"), ...columns.map(([title]) => title)]),
        h(
          "tbody",
          {},
          run.tables.map((row) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, h("a", { href: topicAddress(row.topic) }, row.topic)),
              columns.map(([, value]) => h("td", {}, value(row))),
            ),
          ),
        ),
      ),
    ),
  );
}

function causes(/** @type {Record<string, any>} */ row) {
  let list = [];
  try {
    list = JSON.parse(row.causes ?? "[]") ?? [];
  } catch {
    return NONE;
  }
  return list.length
    ? list
        .slice(0, 3)
        .map((/** @type {any} */ each) => h("div", {}, `${exact(each.n)} × ${each.error ?? each.fingerprint}`))
    : NONE;
}

// The address keeps the filter, so a link shows the same findings.
found.filter({ kind: param("kind"), topic: param("topic") }, (values) => setParams(values));
