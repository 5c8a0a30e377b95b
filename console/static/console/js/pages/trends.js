// The Trends tab: what reconciliations have added up, window by window, beside the day or the week before.

import { RunChart } from "../charts/runchart.js";
import { get, ofTopic } from "../core/api.js";
import { byId, h, replace, setText } from "../core/dom.js";
import { count, dateTime, duration } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { Choice } from "../parts/choice.js";

/** @typedef {[string, string]} Line */

const AGAIN_MS = 60_000;
const PERCENTILES = (/** @type {string} */ name) =>
  ["p50", "p95", "p99"].map((each) => /** @type {Line} */ ([`${name}_${each}_ms`, each]));
/** [title, lines, which of them are compared, words]. @type {[string, Line[], string[], (value: any) => string][]} */
const CHARTS = [
  [
    gettext("Volumes"),
    [
      ["sent", gettext("sent")],
      ["acked", gettext("done")],
    ],
    ["sent", "acked"],
    count,
  ],
  [
    gettext("Retries and deaths"),
    [
      ["retried", gettext("retries")],
      ["died", gettext("died")],
    ],
    ["retried", "died"],
    count,
  ],
  [gettext("Late"), [["late", gettext("handed out more than a second late")]], ["late"], count],
  [gettext("Lateness"), PERCENTILES("lateness"), ["lateness_p95_ms"], duration],
  [gettext("End to end"), PERCENTILES("end_to_end"), ["end_to_end_p95_ms"], duration],
];
/** @type {Record<string, string>} */
const BEFORE = { day: gettext("the day before"), week: gettext("the week before") };

export class TrendsTab {
  constructor() {
    /** @type {RunChart[]} */
    this.charts = [];
    const again = () => this.load();
    this.size = new Choice(
      gettext("Window"),
      "size",
      [
        ["hour", gettext("Hours")],
        ["minute", gettext("Minutes")],
        ["day", gettext("Days")],
      ],
      again,
    );
    this.compare = new Choice(
      gettext("Compared with"),
      "compare",
      [
        ["", gettext("Nothing")],
        ["day", gettext("Yesterday")],
        ["week", gettext("Last week")],
      ],
      () => {
        this.build();
        this.load();
      },
    );
    this.note = h("p", { class: "rc-muted", role: "status" }, gettext("Loading…"));
    this.grid = h("div", { class: "rc-run-grid" });
    replace(
      byId("rc-tab"),
      h("div", { class: "rc-toolbar" }, this.size.element, this.compare.element),
      this.note,
      this.grid,
    );
    this.build();
    this.load();
    setInterval(() => document.hidden || this.load(), AGAIN_MS);
  }

  build() {
    const before = BEFORE[this.compare.value];
    this.charts = CHARTS.map(([title, lines, compared, format]) => {
      const earlier = before
        ? compared.map((name) => /** @type {Line} */ ([`before_${name}`, this.earlier(lines, name, before)]))
        : [];
      return new RunChart(title, [...lines, ...earlier].slice(0, 4), format, { first: gettext("From"), gaps: false });
    });
    replace(
      this.grid,
      this.charts.map((chart) => chart.element),
    );
  }

  /**
   * @param {Line[]} lines
   * @param {string} name
   * @param {string} before
   */
  earlier(lines, name, before) {
    const line = lines.find(([each]) => each === name)?.[1] ?? name;
    return fill(gettext("%(line)s, %(before)s"), { line, before });
  }

  async load() {
    const asked = { size: this.size.value, compare: this.compare.value };
    try {
      /** @type {Api.Windows} */
      const found = await get(ofTopic(page.topic.name, "/windows"), asked);
      if (asked.size === this.size.value && asked.compare === this.compare.value) this.show(found);
    } catch (problem) {
      setText(this.note, messageOf(problem));
    }
  }

  show(/** @type {Api.Windows} */ found) {
    this.grid.hidden = found.complete_ms === null;
    setText(this.note, words(found));
    const points = found.windows.map((row, at) => ({
      ...named(found.names, row, ""),
      ...named(found.names, found.compared?.[at] ?? [], "before_"),
    }));
    for (const chart of this.charts) chart.update(points);
  }

  take() {}

  render() {}
}

/**
 * @param {string[]} names
 * @param {(number | boolean | null)[]} row
 * @param {string} prefix
 */
function named(names, row, prefix) {
  return Object.fromEntries(names.map((name, at) => [prefix + name, row[at] ?? null]));
}

function words(/** @type {Api.Windows} */ found) {
  if (found.complete_ms === null)
    return gettext(
      "Nothing is known yet: trends come with reconciliations, of topics with a journal that is archived.",
    );
  const until = fill(gettext("Complete until %(time)s."), { time: dateTime(found.complete_ms) });
  if (!found.unproved) return until;
  const less = ngettext(
    "The journal of %(n)s slot does not tell everything: figures may be too low.",
    "The journals of %(n)s slots do not tell everything: figures may be too low.",
    found.unproved,
  );
  return `${until} ${fill(less, { n: count(found.unproved) })}`;
}
