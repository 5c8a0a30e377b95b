// Runs of the pipeline: history with live bars, schedules, and the figures from run to run.
import { get, patch, remove } from "../core/api.js";
import { byId, h, replace, setText } from "../core/dom.js";
import { dateTime, duration } from "../core/format.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { planDialog } from "../definitions/plandialog.js";
import { OPERATION_STATES } from "../operations/operationwords.js";
import { atOnce } from "../parts/atonce.js";
import { Choice } from "../parts/choice.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { LiveList, nameCell, showStart } from "../parts/livelist.js";
import { Together } from "../parts/together.js";
import { CalendarCard } from "../runs/calendarcard.js";
import { CleanCard } from "../runs/cleancard.js";
import { askErasure } from "../runs/erase.js";
import { LetGoCard } from "../runs/letgo.js";
import { RunBar } from "../runs/runbar.js";
import { RunCharts } from "../runs/runcharts.js";
import { isLive, JOBS, outcome, scope } from "../runs/runwords.js";
import { askRun, askSchedule } from "../runs/startrun.js";

class Row {
  constructor(/** @type {Api.Run} */ run) {
    this.tag = h("span");
    this.bar = new RunBar(JOBS[run.kind]);
    const address = `${page.places.reconciliation}${run.id}/`;
    this.outcome = h("a", { class: "rc-link", href: address });
    this.when = h("time");
    this.element = h(
      "tr",
      {},
      nameCell(address, JOBS[run.kind], scope(run)),
      h("td", {}, this.tag),
      h("td", { class: "rc-operation-progress" }, this.bar.element),
      h("td", { class: "rc-operation-query" }, this.outcome),
      h(
        "td",
        {},
        this.when,
        h("div", { class: "rc-muted" }, run.via === "schedule" ? gettext("by schedule") : run.user),
      ),
    );
  }

  update(/** @type {Api.Run} */ run, /** @type {number} */ now) {
    this.tag.className = `rc-tag rc-tag-${run.state}`;
    setText(this.tag, OPERATION_STATES[run.state]);
    this.bar.update(run);
    const words = outcome(run);
    setText(this.outcome, words);
    this.outcome.hidden = !words;
    showStart(this.when, run, now);
  }
}

const start = guardedButton(
  {
    symbol: "play_arrow",
    label: gettext("Start a run"),
    missing: page.grants.actions.reconcile,
    look: "rc-primary",
  },
  () => askRun(begun),
);
const erase = guardedButton(
  { symbol: "delete_forever", label: gettext("Erase messages"), missing: page.grants.actions.erase },
  () => askErasure(),
);
const kind = new Choice(gettext("Job"), "kind", [["", gettext("All")], ...Object.entries(JOBS)], () => list.restart());
const schedules = h("section", { class: "rc-card", "aria-label": gettext("Schedules") });
const charts = new RunCharts();
const calendar = new CalendarCard();
const clean = new CleanCard();
const letGo = new LetGoCard();
const list = new LiveList({
  ask: async (query) => {
    /** @type {Api.Runs} */
    const { runs, ...rest } = await get("reconciliations", query);
    return { ...rest, rows: runs };
  },
  Row,
  isLive,
  params: () => ({ kind: kind.value }),
  label: gettext("Runs"),
  columns: [[gettext("Run")], [gettext("State")], [gettext("Progress")], [gettext("Outcome")], [gettext("Started")]],
  empty: [
    "fact_check",
    gettext("No runs yet"),
    gettext("A reconciliation says whether every message did what it should, for topics whose journal is on."),
  ],
  shown: () => below.wait(showRest()),
});

const below = new Together(list, [schedules, calendar.element, clean.element, letGo.element, charts.element]);
replace(
  byId("rc-page"),
  h("div", { class: "rc-head" }, start, erase, kind.element, h("div", { class: "rc-status" }, list.asOf)),
  list.element,
  below.element,
);

function begun(/** @type {Api.Run | Api.Schedule} */ found, /** @type {boolean} */ scheduled) {
  if (scheduled) list.load();
  else location.assign(`${page.places.reconciliation}${found.id}/`);
}

async function showRest() {
  await Promise.all([calendar.load(), clean.load(), letGo.load(), showPlanned()]);
}

async function showPlanned() {
  try {
    const [planned, trend] = await Promise.all([get("reconciliations/schedules"), get("reconciliations/trend")]);
    showSchedules(planned.schedules);
    charts.update(trend.runs);
  } catch (problem) {
    setText(list.asOf, messageOf(problem));
  }
}

function showSchedules(/** @type {Api.Schedule[]} */ found) {
  const key = JSON.stringify(found);
  if (schedules.dataset.key === key) return;
  schedules.dataset.key = key;
  schedules.hidden = found.length === 0;
  const missing = page.grants.actions.schedule;
  replace(
    schedules,
    h("header", {}, h("h2", {}, gettext("Schedules"))),
    h(
      "ul",
      { class: "rc-schedules" },
      found.map((each) =>
        h(
          "li",
          {},
          h("strong", {}, JOBS[each.kind]),
          ` ${scope(each)} · ${fill(gettext("every %(time)s"), { time: duration(each.every_ms) })} · `,
          each.enabled ? fill(gettext("next %(time)s"), { time: dateTime(each.next_ms) }) : gettext("disabled"),
          h(
            "span",
            { class: "rc-actions rc-end" },
            atOnce(
              {
                action: "switch",
                symbol: each.enabled ? "pause" : "play_circle",
                label: each.enabled ? gettext("Disable") : gettext("Enable"),
                missing,
              },
              () => change(patch(`reconciliations/schedules/${each.id}`, { enabled: !each.enabled })),
            ),
            guardedButton({ action: "edit", symbol: "edit", label: gettext("Edit"), missing }, () =>
              askSchedule(each, () => list.load()),
            ),
            guardedButton({ action: "delete", symbol: "delete", label: gettext("Delete"), missing }, () =>
              askDelete(each),
            ),
          ),
        ),
      ),
    ),
  );
}

async function change(/** @type {Promise<unknown>} */ made) {
  await made;
  await list.load();
}

function askDelete(/** @type {Api.Schedule} */ schedule) {
  planDialog({
    title: fill(gettext("Delete the schedule of “%(job)s”"), { job: JOBS[schedule.kind] }),
    plan: {
      difference: [],
      lines: [{ severity: "caution", text: gettext("It will not run by itself any more. The runs it has made stay.") }],
    },
    label: gettext("Delete"),
    danger: true,
    submit: ({ reason }) => change(remove(`reconciliations/schedules/${schedule.id}`, { reason }, schedule.etag)),
  });
}
