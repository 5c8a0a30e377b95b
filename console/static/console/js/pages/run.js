// One run of the pipeline: how far it is, what it found, and the repair of that.
import { param, setParams } from "../core/address.js";
import { get, post } from "../core/api.js";
import { byId, h, replace, setText } from "../core/dom.js";
import { bytes, count, duration, exact, time } from "../core/format.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { OPERATION_STATES } from "../operations/operationwords.js";
import { atOnce } from "../parts/atonce.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { confirmErasure } from "../runs/erase.js";
import { FindingList } from "../runs/findinglist.js";
import { RunBar } from "../runs/runbar.js";
import { runFacts } from "../runs/runfacts.js";
import { figuresTable } from "../runs/runfigures.js";
import { isLive, JOBS, outcome, STAGES, scope } from "../runs/runwords.js";

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

/** For what it waits that has not begun; null where it has. */
function waitsFor(/** @type {Api.Detail} */ { waits, as_of_ms: now }) {
  if (!waits) return null;
  const ahead = waits.ahead
    ? fill(ngettext("%(n)s run waits before it.", "%(n)s runs wait before it.", waits.ahead), { n: count(waits.ahead) })
    : "";
  const working = waits.running_kind
    ? fill(gettext("It waits for a run that is at work: %(job)s, for %(time)s now. One runs at a time."), {
        job: JOBS[waits.running_kind] ?? waits.running_kind,
        time: duration(Math.max(0, now - (waits.running_since_ms ?? now))),
      })
    : gettext("It waits for a job worker to take it: where one is started for each run, that takes some seconds.");
  return [working, ahead].filter(Boolean).join(" ");
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
  setText(tag, OPERATION_STATES[run.state]);
  setText(asOf, fill(gettext("as of %(time)s"), { time: time(run.as_of_ms) }));
  bar.update(run);
  const said = waitsFor(run) ?? outcome(run);
  setText(words, said);
  words.hidden = !said;
  words.classList.toggle("rc-error", Boolean(run.error));
  showStages();
  showButtons();
  replace(facts, runFacts(run));
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
        h(
          "span",
          { class: "rc-muted" },
          ` ${[duration(Math.max(0, until - stage.since_ms)), ...costs(stage)].join(" · ")}`,
        ),
      );
    }),
  );
}

/** What a stage that is over has read, and handed on from task to task. */
function costs(/** @type {Api.Stage} */ { rows, read_bytes, shuffled_bytes }) {
  return [
    rows === null ? "" : fill(ngettext("%(n)s row", "%(n)s rows", rows), { n: exact(rows) }),
    read_bytes ? fill(gettext("%(bytes)s of files"), { bytes: bytes(read_bytes) }) : "",
    shuffled_bytes ? fill(gettext("%(bytes)s between tasks"), { bytes: bytes(shuffled_bytes) }) : "",
  ].filter(Boolean);
}

function showButtons() {
  const key = `${run.state} ${run.erased?.preview}`;
  if (buttons.dataset.key === key) return;
  buttons.dataset.key = key;
  const missing = page.grants.actions[run.kind === "restore" ? "restore_all" : run.kind];
  const { erased } = run;
  const stop = async () => {
    await post(`${path}:stop`);
    await load();
  };
  replace(
    buttons,
    ["queued", "running"].includes(run.state)
      ? atOnce({ action: "stop", symbol: "stop_circle", label: gettext("Stop"), missing }, stop)
      : null,
    erased?.preview && erased.messages + erased.records + erased.findings + erased.open > 0
      ? guardedButton({ action: "erase", symbol: "delete_forever", label: gettext("Erase these…"), missing }, () =>
          confirmErasure(run, erased),
        )
      : null,
  );
}

function showFigures() {
  figures.hidden = run.tables.length === 0;
  if (figures.dataset.number === String(run.tables.length)) return;
  figures.dataset.number = String(run.tables.length);
  replace(figures, figuresTable(run.tables));
}

// The address keeps the filter, so a link shows the same findings.
found.filter({ kind: param("kind"), topic: param("topic"), cause: param("cause") }, (values) => setParams(values));
