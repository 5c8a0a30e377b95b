// What waits in a priority topic, by priority: how long, behind how many, and whether it starves.
import { get, ofTopic } from "../core/api.js";
import { h, headRow, refill, setText } from "../core/dom.js";
import { count, duration } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";

const REFRESH_MS = 5_000;
const SHOWN = 20;

const atLeast = (/** @type {number | null} */ ms) => (ms === null ? "–" : `≥ ${duration(ms)}`);

/** What starves, or how it goes: in words, not by colour alone. */
const state = (/** @type {Api.SlotBand} */ each) =>
  each.starving ? h("span", { class: "rc-tag" }, gettext("starves")) : null;

/**
 * The rows of single slots; `open(slot)`: shows one, null where it is shown already.
 * @param {Api.SlotBand[]} worst
 * @param {number} now
 * @param {((slot: number) => void) | null} open
 */
function rowsOf(worst, now, open) {
  return worst.map((each) => {
    const slot = open
      ? h(
          "button",
          {
            type: "button",
            class: "rc-link",
            "data-key": `${each.slot} ${each.priority}`,
            onclick: () => open(each.slot),
          },
          fill(gettext("Slot %(slot)s"), { slot: each.slot }),
        )
      : null;
    return h(
      "tr",
      {},
      h("td", { class: "rc-num" }, count(each.priority)),
      open ? h("td", { class: "rc-band-slot" }, slot) : null,
      h("td", {}, state(each)),
      h("td", { class: "rc-num" }, count(each.waiting)),
      h("td", { class: "rc-num" }, atLeast(each.waited_ms)),
      h("td", { class: "rc-num" }, count(each.before)),
      h("td", { class: "rc-num rc-less" }, count(each.elsewhere)),
      h("td", { class: "rc-num" }, each.since_ms === null ? "–" : duration(Math.max(0, now - each.since_ms))),
      h("td", { class: "rc-num rc-less" }, each.overtaken === null ? "–" : count(each.overtaken)),
    );
  });
}

function headsOf(/** @type {boolean} */ all) {
  return [
    [gettext("Priority"), "rc-num"],
    ...(all ? [gettext("Slot")] : []),
    gettext("State"),
    [gettext("Waiting"), "rc-num"],
    [gettext("First waits"), "rc-num"],
    [gettext("Higher before it"), "rc-num"],
    [gettext("In other slots"), "rc-num rc-less"],
    [gettext("None taken for"), "rc-num"],
    [gettext("Others taken"), "rc-num rc-less"],
  ];
}

/** One line of all priorities. */
function summary(/** @type {Api.Bands} */ found) {
  const starving = found.worst.filter((each) => each.starving);
  const words = starving.length
    ? fill(
        ngettext(
          "%(n)s priority of a slot starves: for a minute or longer none of it was taken, others were.",
          "%(n)s priorities of slots starve: for a minute or longer none of them was taken, others were.",
          starving.length,
        ),
        { n: count(starving.length) },
      )
    : gettext("Nothing starves: of each priority messages are taken, or nothing higher is.");
  return found.noted_ms === null ? gettext("How long they wait is not known: no keeper has looked yet.") : words;
}

function notes(/** @type {Api.Bands} */ found) {
  const lines = [];
  if (found.looked_at < found.slots)
    lines.push(
      fill(gettext("Looked at the %(n)s slots with the most messages, of %(all)s in which some wait."), {
        n: count(found.looked_at),
        all: count(found.slots),
      }),
    );
  if (found.above)
    lines.push(
      fill(
        ngettext(
          "%(n)s message with a higher priority is not listed.",
          "%(n)s messages with higher priorities are not listed.",
          found.above,
        ),
        { n: count(found.above) },
      ),
    );
  if (found.failed)
    lines.push(
      fill(
        ngettext(
          "%(n)s message has failed before; such messages have a tenth of each take.",
          "%(n)s messages have failed before; such messages have a tenth of each take.",
          found.failed,
        ),
        { n: count(found.failed) },
      ),
    );
  return lines.join(" ");
}

export class PriorityBands {
  /**
   * `live` says when to stand still; `open(slot)` shows a slot. Of one slot alone where `slot` is given.
   * @param {import("../core/live.js").Live} live
   * @param {{ open?: (slot: number) => void, slot?: number }} about
   */
  constructor(live, { open, slot } = {}) {
    this.live = live;
    this.open = open ?? null;
    this.slot = slot;
    this.any = false;
    this.body = h("tbody");
    this.words = h("p", { class: "rc-note" });
    this.note = h("p", { class: "rc-muted rc-note" });
    const title = gettext("By priority: who waits for whom");
    this.element = h(
      "section",
      { class: slot === undefined ? "rc-card rc-flush" : "", "aria-label": title, hidden: true },
      slot === undefined ? h("h2", { class: "rc-card-title rc-strong" }, title) : h("h3", {}, title),
      this.words,
      h(
        "div",
        { class: "rc-scroll", tabindex: "0", role: "group", "aria-label": title },
        h("table", { class: "rc-table rc-bands" }, headRow(headsOf(Boolean(open))), this.body),
      ),
      this.note,
    );
  }

  /** Begin to look, again and again. */
  start() {
    this.load();
    setInterval(() => this.load(), REFRESH_MS);
    return this;
  }

  /** Not shown beside a moment of the past: it is of now alone. */
  stand(/** @type {boolean} */ past) {
    this.element.hidden = past || !this.any;
  }

  async load() {
    if (this.loaded && (this.live.paused || this.live.replay || document.hidden)) return;
    this.loaded = true;
    try {
      this.show(await get(ofTopic(page.topic.name, "/bands"), this.slot === undefined ? {} : { slot: this.slot }));
    } catch (problem) {
      setText(this.words, messageOf(problem));
    }
  }

  show(/** @type {Api.Bands} */ found) {
    this.any = found.worst.length > 0;
    this.stand(Boolean(this.live.replay));
    setText(this.words, summary(found));
    refill(this.body, rowsOf(found.worst.slice(0, SHOWN), found.at_ms, this.open));
    setText(this.note, notes(found));
  }
}
