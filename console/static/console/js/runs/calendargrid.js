// Windows as a grid of buttons: days in weeks, or the hours of a day in a line; one tab stop, then the arrow keys.
import { all, h, replace } from "../core/dom.js";
import { exact } from "../core/format.js";
import { language } from "../core/page.js";
import { fill, ngettext } from "../core/text.js";
import { dayText, hourText, SIGNS, STATES } from "./calendarwords.js";

const DAY = 86_400_000;
const MONDAY = 4 * DAY; // 1970-01-05
const WEEK = 7;
const inUtc = (/** @type {Intl.DateTimeFormatOptions} */ options) =>
  new Intl.DateTimeFormat(language, { ...options, timeZone: "UTC" });
const weekday = inUtc({ weekday: "short" });
const dayOfMonth = inUtc({ month: "short", day: "numeric" });

/** @typedef {Api.CalendarWindow} Window */

export class CalendarGrid {
  /**
   * @param {string} label
   * @param {(window: Window) => void} onOpen
   */
  constructor(label, onOpen) {
    this.onOpen = onOpen;
    /** @type {Window[]} */
    this.windows = [];
    /** The window with the tab stop. */
    this.at = -1;
    this.hourly = false;
    this.first = 0; // row of the first day: Monday is 0
    this.table = h("table", {
      class: "rc-calendar-grid",
      "aria-label": label,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    });
    this.element = h("div", { class: "rc-scroll" }, this.table);
  }

  /**
   * @param {Api.Calendar} found
   * @param {string} day that is open
   */
  update(found, day) {
    const focused = this.table.contains(document.activeElement);
    const kept = this.windows[this.at]?.at_ms;
    this.windows = found.windows;
    this.hourly = found.step_ms < DAY;
    this.first = this.hourly ? 0 : ((found.from_ms - MONDAY) / DAY) % WEEK;
    const again = this.windows.findIndex((each) => each.at_ms === kept);
    const open = this.windows.findIndex((each) => dayText(each.at_ms) === day);
    this.at = again >= 0 ? again : open >= 0 && !this.hourly ? open : this.hourly ? 0 : this.windows.length - 1;
    replace(this.table, this.hourly ? this.hours() : this.weeks());
    this.mark(day);
    if (focused) this.button(this.at)?.focus();
  }

  weeks() {
    const columns = Math.ceil((this.first + this.windows.length) / WEEK);
    const place = (/** @type {number} */ row, /** @type {number} */ column) => column * WEEK + row - this.first;
    const begins = this.windows[0].at_ms - this.first * DAY;
    const heads = Array.from({ length: columns }, (_, column) =>
      h("th", { scope: "col" }, dayOfMonth.format(begins + column * WEEK * DAY)),
    );
    const rows = Array.from({ length: WEEK }, (_, row) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, weekday.format(begins + row * DAY)),
        Array.from({ length: columns }, (_, column) => h("td", {}, this.cell(place(row, column)))),
      ),
    );
    return [h("thead", {}, h("tr", {}, h("td"), heads)), h("tbody", {}, rows)];
  }

  hours() {
    const heads = this.windows.map((each) =>
      h("th", { scope: "col" }, String(new Date(each.at_ms).getUTCHours()).padStart(2, "0")),
    );
    const cells = this.windows.map((_, at) => h("td", {}, this.cell(at)));
    return [h("thead", {}, h("tr", {}, heads)), h("tbody", {}, h("tr", {}, cells))];
  }

  /** Where there is no room for all of them; of a day's hours the first are seen. */
  showNewest() {
    if (this.hourly) return;
    const watch = new ResizeObserver(() => {
      if (!this.element.clientWidth) return; // the page shows it later, with what stands above it
      watch.disconnect();
      this.element.scrollLeft = this.element.scrollWidth;
    });
    watch.observe(this.element);
  }

  cell(/** @type {number} */ at) {
    const window = this.windows[at];
    if (!window) return null;
    const name = `${(this.hourly ? hourText : dayText)(window.at_ms)}: ${told(window)}`;
    return h(
      "button",
      {
        type: "button",
        class: "rc-calendar-cell",
        dataset: { state: window.state, at: String(at) },
        "aria-label": name,
        title: name,
        tabindex: at === this.at ? 0 : -1,
        onclick: () => {
          this.move(at);
          this.onOpen(window);
        },
      },
      SIGNS[window.state],
    );
  }

  button(/** @type {number} */ at) {
    return all(this.table, `[data-at="${at}"]`)[0];
  }

  mark(/** @type {string} */ day) {
    if (this.hourly) return;
    for (const each of all(this.table, "[data-at]"))
      each.setAttribute("aria-expanded", String(dayText(this.windows[Number(each.dataset.at)].at_ms) === day));
  }

  move(/** @type {number} */ at) {
    const next = this.button(at);
    if (!next) return;
    this.button(this.at)?.setAttribute("tabindex", "-1");
    this.at = at;
    next.setAttribute("tabindex", "0");
    next.focus();
  }

  key(/** @type {KeyboardEvent} */ event) {
    const across = this.hourly ? 1 : WEEK;
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: -across, ArrowRight: across, ArrowUp: -1, ArrowDown: 1 };
    const last = this.windows.length - 1;
    const next = event.key === "Home" ? 0 : event.key === "End" ? last : this.at + (steps[event.key] ?? Number.NaN);
    if (Number.isNaN(next) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.move(next);
  }
}

function told(/** @type {Window} */ { state, findings }) {
  if (!findings) return STATES[state];
  return fill(ngettext("%(n)s finding", "%(n)s findings", findings), { n: exact(findings) });
}
