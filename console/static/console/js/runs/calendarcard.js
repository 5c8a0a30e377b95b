// A calendar of windows: the days of thirteen weeks, complete, incomplete, with findings; a press on one shows its hours.

import { ChartTable } from "../charts/charttable.js";
import { tableToggle } from "../charts/tabletoggle.js";
import { param, setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { h, replace, setText } from "../core/dom.js";
import { dateTime, exact } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { CalendarGrid } from "./calendargrid.js";
import { dayOf, dayText, hourText, SIGNS, STATES } from "./calendarwords.js";

const AGAIN_MS = 60_000;
const DAY = 86_400_000;

export class CalendarCard {
  constructor() {
    this.loadedMs = 0;
    this.shown = "";
    this.asTable = false;
    /** The day whose hours are shown, as 2026-11-24; "": none. */
    this.day = dayOf(param("day")) === null ? "" : param("day");
    /** @type {Api.Calendar | null} */
    this.found = null;
    /** @type {Api.Calendar | null} */
    this.hours = null;
    this.topic = h("select", {
      class: "rc-select",
      "aria-label": gettext("Topic of the calendar"),
      onchange: () => this.choose(),
    });
    this.toggle = tableToggle(() => this.switchView());
    this.days = new CalendarGrid(gettext("Days"), (window) => this.openDay(dayText(window.at_ms)));
    this.daysTable = table(gettext("Day"), (at) => this.openDay(dayText(at)));
    this.note = h("p", { class: "rc-muted", role: "status" }, gettext("Loading…"));
    this.detail = h("div", { class: "rc-calendar-detail", "aria-live": "polite" });
    this.hoursGrid = new CalendarGrid(gettext("Hours"), (window) => this.showDetail(window, hourText));
    this.hoursTable = table(gettext("Hour"), (at) => {
      const window = this.hours?.windows.find((each) => each.at_ms === at);
      if (window) this.showDetail(window, hourText);
    });
    this.hoursTitle = h("h3", { class: "rc-strong" });
    this.hoursCells = h("div", { class: "rc-calendar-box" });
    this.hoursBox = h(
      "div",
      { class: "rc-calendar-hours", hidden: true },
      h(
        "header",
        {},
        this.hoursTitle,
        h("button", { type: "button", class: "rc-button", onclick: () => this.close() }, gettext("Close")),
      ),
      this.hoursCells,
    );
    this.box = h("div", { class: "rc-calendar-box" });
    this.element = h(
      "section",
      { class: "rc-card rc-calendar", "aria-label": gettext("Calendar") },
      h("header", {}, h("h2", {}, gettext("Calendar")), h("span", { class: "rc-actions" }, this.topic, this.toggle)),
      this.note,
      this.box,
      legend(),
      this.hoursBox,
      this.detail,
    );
    this.chosen = param("calendar");
  }

  choose() {
    this.chosen = this.topic.value;
    setParams({ calendar: this.chosen });
    this.load(true);
  }

  /** Once a minute at most, unless `now`: it changes with runs, and they take their time. */
  async load(now = false) {
    if (!now && Date.now() - this.loadedMs < AGAIN_MS) return;
    this.loadedMs = Date.now();
    const { chosen, day } = this;
    const topic = chosen || null;
    try {
      const at = dayOf(day);
      const hourly = at === null ? null : { topic, size: "hour", from: at, to: at + DAY };
      /** @type {[Api.Calendar, Api.Calendar | null]} */
      const [found, hours] = await Promise.all([
        get("reconciliations/calendar", { topic }),
        hourly ? get("reconciliations/calendar", hourly) : null,
      ]);
      if (chosen !== this.chosen || day !== this.day) return;
      this.show(found, hours);
    } catch (problem) {
      this.note.classList.add("rc-error");
      setText(this.note, messageOf(problem));
      this.showTopics(this.found?.topics ?? []);
    }
  }

  /**
   * @param {Api.Calendar} found
   * @param {Api.Calendar | null} hours
   */
  show(found, hours) {
    this.note.classList.remove("rc-error");
    setText(this.note, words(found));
    const text = JSON.stringify([found.windows, found.topics, hours?.windows]);
    if (text === this.shown) return;
    this.shown = text;
    this.found = found;
    this.hours = hours;
    this.showTopics(found.topics);
    this.render();
    if (this.day && !this.detail.firstChild) this.showDay(); // as somebody who was sent the address
  }

  showTopics(/** @type {string[]} */ names) {
    const all = this.chosen && !names.includes(this.chosen) ? [this.chosen, ...names] : names;
    replace(
      this.topic,
      h("option", { value: "" }, gettext("All topics")),
      all.map((name) => h("option", { value: name }, name)),
    );
    this.topic.value = this.chosen;
  }

  switchView() {
    this.asTable = !this.asTable;
    this.toggle.setAttribute("aria-pressed", String(this.asTable));
    this.render();
  }

  render() {
    const { found, hours } = this;
    if (!found) return;
    this.fillBox(this.box, found, this.days, this.daysTable, dayText);
    this.hoursBox.hidden = hours === null;
    if (!hours) return;
    setText(this.hoursTitle, fill(gettext("Hours of %(day)s, UTC"), { day: this.day }));
    this.fillBox(this.hoursCells, hours, this.hoursGrid, this.hoursTable, hourText);
  }

  /**
   * @param {HTMLElement} box
   * @param {Api.Calendar} found
   * @param {CalendarGrid} grid
   * @param {ChartTable} lines
   * @param {(ms: number) => string} when
   */
  fillBox(box, found, grid, lines, when) {
    if (this.asTable) {
      lines.update(
        found.windows
          .toReversed()
          .map((each) => [each.at_ms, when(each.at_ms), STATES[each.state], exact(each.findings), exact(each.runs)]),
      );
      if (lines.element.parentElement !== box) replace(box, lines.element);
    } else {
      grid.update(found, this.day);
      if (grid.element.parentElement === box) return;
      replace(box, grid.element);
      grid.showNewest();
    }
  }

  close() {
    this.openDay(this.day);
    if (this.asTable) this.toggle.focus();
    else this.days.move(this.days.at);
  }

  /** Of the day that is open already: closes it. */
  openDay(/** @type {string} */ day) {
    this.day = this.day === day ? "" : day;
    setParams({ day: this.day });
    this.showDay();
    if (!this.day && this.found) this.show(this.found, null);
    this.days.mark(this.day);
    if (this.day) this.load(true);
  }

  showDay() {
    const window = this.found?.windows.find((each) => dayText(each.at_ms) === this.day);
    if (window) this.showDetail(window, dayText);
    else replace(this.detail);
  }

  /**
   * @param {Api.CalendarWindow} window
   * @param {(ms: number) => string} when
   */
  showDetail(window, when) {
    const query = this.chosen ? `?${new URLSearchParams({ topic: this.chosen })}` : "";
    const runs = fill(ngettext("%(n)s reconciliation ended then.", "%(n)s reconciliations ended then.", window.runs), {
      n: exact(window.runs),
    });
    replace(
      this.detail,
      h("strong", {}, `${when(window.at_ms)}: ${sentence(window, this.chosen)}`),
      h("span", { class: "rc-muted" }, runs),
      window.run
        ? h(
            "a",
            { href: `${page.places.reconciliation}${window.run}/${query}` },
            fill(gettext("The run of %(time)s"), { time: dateTime(window.ended_ms) }),
          )
        : null,
    );
  }
}

/**
 * @param {string} first
 * @param {(at: number) => void} open
 */
const table = (first, open) =>
  new ChartTable([first, gettext("State"), gettext("Findings"), gettext("Runs")], (key) => open(Number(key)));

function legend() {
  return h(
    "ul",
    { class: "rc-calendar-legend" },
    Object.entries(STATES).map(([state, name]) =>
      h(
        "li",
        {},
        h("span", { class: "rc-calendar-cell", dataset: { state }, "aria-hidden": "true" }, SIGNS[state]),
        ` ${name}`,
      ),
    ),
  );
}

/** What a window says; of all topics, how many say so. */
function sentence(/** @type {Api.CalendarWindow} */ { state, findings, topics }, /** @type {string} */ topic) {
  const found = findings
    ? fill(ngettext("%(n)s finding", "%(n)s findings", findings), { n: exact(findings) })
    : STATES[state];
  if (topic) return found;
  const each = Object.entries(topics).filter(([, n]) => n);
  const parts = each.map(([name, n]) => `${STATES[name]} ${exact(n)}`).join(", ");
  return parts ? `${found} · ${fill(gettext("topics: %(parts)s"), { parts })}` : found;
}

function words(/** @type {Api.Calendar} */ found) {
  if (found.windows.every((each) => each.state === "unverified"))
    return gettext(
      "Nothing is verified yet: this fills with reconciliations, of topics with a journal that is archived.",
    );
  const days = gettext("Days of UTC. A day shows its hours; findings stand where the run that found them ended.");
  if (found.runs_since_ms === null) return days;
  const cut = gettext("There are too many runs: of those before %(time)s nothing is said.");
  return `${days} ${fill(cut, { time: dateTime(found.runs_since_ms) })}`;
}
