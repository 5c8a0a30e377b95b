// What was done while something happened, as marks over a span of time; those close together are one.
import { get, ofTopic } from "../core/api.js";
import { h, icon, replace, setText } from "../core/dom.js";
import { count, dateTime, time } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { problemName } from "./problemnames.js";

/** @type {Record<string, string>} */
const SYMBOLS = {
  definition: "tune",
  operation: "playlist_play",
  placement: "swap_horiz",
  worker: "rocket_launch",
  problem: "warning",
  alert: "notifications",
};
/** @type {Record<string, string>} */
const KINDS = {
  definition: gettext("Definition"),
  operation: gettext("Operation"),
  placement: gettext("Placement"),
  worker: gettext("Worker started"),
  problem: gettext("Problem began"),
  alert: gettext("Alert fired"),
};
/** @type {Record<string, string>} */
const WHAT = {
  found: gettext("first seen"),
  created: gettext("created"),
  edited: gettext("edited"),
  rolled_back: gettext("rolled back"),
  deleted: gettext("deleted"),
  paused: gettext("paused"),
  resumed: gettext("resumed"),
  cancel: gettext("cancel"),
  requeue: gettext("requeue"),
  drop: gettext("drop"),
  reschedule: gettext("reschedule"),
  run_now: gettext("run now"),
  restore: gettext("restore"),
  repair: gettext("repair"),
  drain: gettext("worker drained"),
  undrain: gettext("drain ended"),
  pin: gettext("slots pinned"),
  unpin: gettext("slots released"),
  unfence: gettext("slots shared again"),
  hold: gettext("key held"),
  lift: gettext("hold lifted"),
};
const OFTEN_MS = 30_000;
const MARK_PX = 30; // of one that tells a number

export class Marks {
  /**
   * @param {string} topic
   * @param {(at: number) => void} onMoment
   */
  constructor(topic, onMoment) {
    this.topic = topic;
    this.onMoment = onMoment;
    this.key = "";
    this.askedAt = 0;
    this.element = h("div", { class: "rc-marks", role: "group", "aria-label": gettext("What happened") });
    this.list = h("ul", { class: "rc-mark-list", tabindex: "0", "aria-label": gettext("What happened") });
  }

  /**
   * @param {import("../time/timespan.js").Span} span
   * @param {boolean} follows whether it is as long as before and only goes on with the clock
   */
  async show(span, follows = false) {
    const key = follows ? `the last ${span.to - span.from}` : `${span.from} ${span.to}`;
    if (key === this.key && Date.now() - this.askedAt < OFTEN_MS) return;
    if (key !== this.key) {
      replace(this.element);
      replace(this.list);
    }
    this.key = key;
    this.askedAt = Date.now();
    try {
      /** @type {Api.Marks} */
      const { marks } = await get(ofTopic(this.topic, "/history/markers"), { from: span.from, to: span.to });
      if (this.key === key) this.draw(span, marks);
    } catch (error) {
      setText(this.list, messageOf(error));
    }
  }

  /**
   * @param {import("../time/timespan.js").Span} span
   * @param {any[]} marks
   */
  draw({ from, to }, marks) {
    const perMs = this.element.clientWidth / (to - from);
    const apart = together(marks, perMs ? MARK_PX / perMs : 0);
    const shown = JSON.stringify(apart);
    if (this.element.dataset.shown === shown) return;
    this.element.dataset.shown = shown;
    replace(
      this.element,
      apart.map((mark) => {
        const [kind] = Object.entries(mark.kinds).sort((one, other) => other[1] - one[1])[0];
        const words = summary(mark);
        const button = h(
          "button",
          {
            type: "button",
            class: `rc-mark rc-mark-${mark.kinds.problem ? "problem" : kind}`,
            title: words,
            "aria-label": words,
            onclick: () => this.open(mark),
          },
          mark.count > 1 ? h("b", {}, count(mark.count)) : icon(SYMBOLS[kind]),
        );
        button.style.left = `${(100 * (middle(mark) - from)) / (to - from)}%`;
        return button;
      }),
    );
  }

  /** Its first moment, and what happened then, line by line. */
  open(/** @type {any} */ mark) {
    this.onMoment(mark.from_ms);
    const left = mark.count - mark.markers.length;
    replace(
      this.list,
      mark.markers.map((/** @type {any} */ marker) => line(marker)),
      left > 0 ? h("li", { class: "rc-muted" }, fill(gettext("and %(n)s more"), { n: count(left) })) : null,
    );
  }
}

const middle = (/** @type {any} */ { from_ms, to_ms }) => (from_ms + to_ms) / 2;

/**
 * Marks that would lie on each other are one.
 * @param {any[]} marks in the order of time
 * @param {number} least between two of them, in ms
 */
export function together(marks, least) {
  /** @type {any[]} */
  const found = [];
  for (const mark of marks) {
    const last = found.at(-1);
    if (!last || middle(mark) - middle(last) >= least) {
      found.push(mark);
      continue;
    }
    const kinds = { ...last.kinds };
    for (const [kind, number] of Object.entries(mark.kinds)) kinds[kind] = (kinds[kind] ?? 0) + number;
    const markers = [...last.markers, ...mark.markers];
    found[found.length - 1] = { ...last, to_ms: mark.to_ms, count: last.count + mark.count, kinds, markers };
  }
  return found;
}

function summary(/** @type {any} */ mark) {
  if (mark.count === 1) return `${time(mark.from_ms)} ${text(mark.markers[0])}`;
  const kinds = Object.entries(mark.kinds).map(([kind, number]) => `${KINDS[kind] ?? kind}: ${count(number)}`);
  const all = fill(ngettext("%(n)s event", "%(n)s events", mark.count), { n: count(mark.count) });
  return `${time(mark.from_ms)} ${all} · ${kinds.join(" · ")}`;
}

function text(/** @type {any} */ { kind, what, about }) {
  const words =
    kind === "worker" || kind === "alert" ? "" : kind === "problem" ? problemName(what) : (WHAT[what] ?? what);
  const rest = ["problem", "operation"].includes(kind) || about === "paused" ? "" : about;
  if (kind === "definition") return [KINDS.definition, words, fieldNames(rest)].filter(Boolean).join(" · ");
  return [KINDS[kind] ?? kind, words, rest].filter(Boolean).join(" · ");
}

/** Fields of a definition as its form calls them. */
const fieldNames = (/** @type {string} */ names) =>
  names
    .split(", ")
    .map((name) => page.labels?.[name] ?? name)
    .join(", ");

function line(/** @type {any} */ marker) {
  return h(
    "li",
    {},
    icon(SYMBOLS[marker.kind]),
    h("time", { title: dateTime(marker.at_ms) }, time(marker.at_ms)),
    h("span", {}, text(marker), marker.who ? ` · ${marker.who}` : null),
    place(marker),
  );
}

function place(/** @type {any} */ { kind, id }) {
  if (kind === "operation") return h("a", { href: `${page.root}operations/${id}/` }, gettext("Open"));
  if (kind === "alert") return h("a", { href: page.places.alerts }, gettext("Open"));
  if (kind === "definition")
    return h("a", { href: `${topicAddress(page.topic.name, "definition")}#rc-history` }, gettext("Open"));
  return null;
}
