// The prepare queue: how long deliveries have been in flight, the oldest first.

import { Bars } from "../charts/bars.js";
import { h, headRow, replace } from "../core/dom.js";
import { count, dateTime, duration } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { openMessage } from "../messages/messagepanel.js";

/** @typedef {[number, number]} Bucket */

const LABELS = 5;
const BARS = 8; // at least
const TITLES = [
  gettext("Id"),
  [gettext("Age"), "rc-num"],
  [gettext("Time left"), "rc-num"],
  [gettext("Retries left"), "rc-num"],
  [gettext("Slot"), "rc-num"],
];

export class PrepareQueue {
  constructor(/** @type {import("../core/live.js").Live} */ live) {
    this.live = live;
    this.ages = new Bars(gettext("Prepare queue: age of deliveries"), {
      unit: gettext("deliveries"),
      empty: gettext("Nothing is in flight."),
    });
    this.body = h("tbody");
    this.owner = h("th", { scope: "col", hidden: true }, gettext("Owner"));
    this.more = h("p", { class: "rc-muted rc-bars-note" });
    const head = headRow(TITLES);
    head.rows[0].append(this.owner);
    this.table = h("table", { class: "rc-table" }, head, this.body);
    this.say(gettext("Loading…"));
    this.oldest = h(
      "section",
      { class: "rc-card rc-flush", "aria-label": gettext("In flight, oldest first") },
      h("header", { class: "rc-card-title" }, h("h2", {}, gettext("In flight, oldest first"))),
      h("div", { class: "rc-scroll rc-tall" }, this.table),
      this.more,
    );
  }

  update(/** @type {Live.Details} */ details) {
    const buckets = coarse(details.ages.buckets);
    const note = details.ages.capped
      ? fill(gettext("Only the oldest of each slot are counted, %(n)s in all."), { n: count(details.ages.looked_at) })
      : fill(gettext("Visibility timeout %(time)s."), { time: duration(details.visibility_timeout_ms) });
    const permits = details.permits;
    const used = permits
      ? ` ${fill(gettext("Permits in use: %(used)s of %(all)s."), { used: count(permits.used), all: count(permits.of) })}`
      : "";
    this.ages.update(buckets, note + used);
    const now = this.live.nowMs();
    const { owners } = details;
    this.owner.hidden = !owners;
    replace(
      this.body,
      details.oldest.map((row) => this.line(row, now, owners)),
    );
    if (!details.oldest.length) this.say(gettext("Nothing is in flight."));
    this.more.textContent = details.more ? gettext("More deliveries are in flight.") : "";
  }

  say(/** @type {string} */ words) {
    replace(this.body, h("tr", {}, h("td", { colspan: TITLES.length + 1, class: "rc-nothing" }, words)));
  }

  /** `owners`: who has it, for only the owner of a slot takes from it; null in shared mode. */
  line(/** @type {Live.InFlight} */ row, /** @type {number} */ now, /** @type {Live.Owners | null} */ owners) {
    const left = row.until_ms - now;
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        h(
          "button",
          { type: "button", class: "rc-link rc-mono", onclick: () => openMessage(row, now, () => {}) },
          row.id ?? gettext("(hidden)"),
        ),
      ),
      h("td", { class: "rc-num", title: dateTime(row.taken_ms) }, duration(Math.max(0, now - row.taken_ms))),
      h(
        "td",
        { class: left < 0 ? "rc-num rc-bad" : "rc-num" },
        left < 0 ? fill(gettext("over by %(time)s"), { time: duration(-left) }) : duration(left),
      ),
      h("td", { class: "rc-num" }, count(row.retries_left)),
      h("td", { class: "rc-num" }, count(row.slot)),
      owners ? h("td", {}, owners.names[owners.of[row.slot]] ?? gettext("nobody")) : null,
    );
  }
}

/** Quarter octaves are too fine to look at: one bar for each doubling. */
function coarse(/** @type {Bucket[]} */ buckets) {
  if (!buckets.length) return [];
  // Below a millisecond there is nothing to tell apart.
  const first = Math.max(0, Math.min(...buckets.map(([upper]) => octave(upper)), lastOf(buckets) - BARS + 1));
  const last = Math.max(lastOf(buckets), first + BARS - 1);
  const sums = new Map();
  for (const [upper, number] of buckets) sums.set(octave(upper), (sums.get(octave(upper)) ?? 0) + number);
  const labelled = Math.ceil((last - first + 1) / LABELS);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const power = first + index;
    return /** @type {import("../charts/bars.js").Bar} */ ([
      `≤ ${duration(2 ** power)}`,
      sums.get(power) ?? 0,
      (last - power) % labelled === 0,
    ]);
  });
}

const lastOf = (/** @type {Bucket[]} */ buckets) => Math.max(...buckets.map(([upper]) => octave(upper)));
const octave = (/** @type {number} */ ms) => Math.max(0, Math.ceil(Math.log2(Math.max(1, ms))));
