// The replay of an incident: a slider over the span that is shown, and what was done meanwhile as marks above it.
import { h, icon, setText } from "../core/dom.js";
import { dateTime } from "../core/format.js";
import { isPressed } from "../core/press.js";
import { fill, gettext } from "../core/text.js";
import { Marks } from "./marks.js";

const TICK_MS = 1000;
const STEP_MS = 10_000;
const SPEEDS = [10, 60, 300, 1800];

export class ReplayBar {
  /**
   * @param {import("../time/timeview.js").TimeView} view
   * @param {string} topic
   */
  constructor(view, topic) {
    this.view = view;
    this.timer = 0;
    this.symbol = icon("play_arrow");
    this.play = h(
      "button",
      { type: "button", class: "rc-icon-button", onclick: () => (this.timer ? this.stop() : this.start()) },
      this.symbol,
    );
    this.speed = h(
      "select",
      { class: "rc-select rc-replay-speed", "aria-label": gettext("Speed of the replay") },
      SPEEDS.map((speed) => h("option", { value: speed }, `× ${speed}`)),
    );
    this.speed.value = "60";
    this.slider = h("input", {
      type: "range",
      class: "rc-replay-slider",
      "aria-label": gettext("Moment"),
      step: STEP_MS,
      oninput: () => {
        this.stop();
        view.replay(Number(this.slider.value));
      },
    });
    this.marks = new Marks(topic, (at) => {
      this.stop();
      view.replay(at);
    });
    this.words = h("strong", { class: "rc-time-words" });
    this.note = h("span", { class: "rc-muted" });
    this.back = h(
      "button",
      { type: "button", class: "rc-button rc-small", onclick: () => view.follow(view.range) },
      gettext("Back to now"),
    );
    this.element = h(
      "section",
      { class: "rc-card rc-replay", "aria-label": gettext("Replay") },
      h("div", { class: "rc-replay-line" }, this.play, this.speed, this.words, this.note, this.back),
      h("div", { class: "rc-replay-track" }, this.marks.element, this.slider),
      this.marks.list,
    );
    this.label();
  }

  /** @param {any} past what is shown of the moment, null: nothing yet */
  update(past, problem = "") {
    const { fixed, at, pushed } = this.view;
    // Also over a range that follows the clock, for what happened in it; not over the last minutes.
    this.element.hidden = pushed;
    this.back.hidden = !fixed;
    if (!fixed) this.stop();
    if (pushed) return;
    const span = this.view.span();
    const [from, to] = [Math.round(span.from), Math.round(span.to)];
    this.marks.show({ from, to }, !fixed);
    this.slider.min = String(from - (from % STEP_MS));
    this.slider.max = String(to);
    this.slider.value = String(at ?? to);
    this.slider.setAttribute("aria-valuetext", at === null ? gettext("no moment chosen") : dateTime(at));
    setText(this.words, at === null ? gettext("Replay") : dateTime(at));
    setText(this.note, problem || noteOf(at, past));
  }

  start() {
    const { from, to } = this.view.span();
    const { at } = this.view;
    if (at === null || at >= to - STEP_MS) this.view.replay(from);
    this.timer = setInterval(() => this.step(), TICK_MS);
    this.label();
  }

  step() {
    if (isPressed()) return;
    const { fixed, at } = this.view;
    if (!fixed || at === null || at >= fixed.to) return this.stop();
    this.view.replay(at + Math.max(STEP_MS, Number(this.speed.value) * TICK_MS));
  }

  stop() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = 0;
    this.label();
  }

  label() {
    setText(this.symbol, this.timer ? "pause" : "play_arrow");
    const words = this.timer ? gettext("Stop the replay") : gettext("Play");
    this.play.setAttribute("aria-label", words);
    this.play.title = words;
  }
}

/** How finely, and what is missing. */
function noteOf(/** @type {number | null} */ at, /** @type {any} */ past) {
  if (at === null) return gettext("Press on a chart or move the slider to see how everything was at a moment.");
  if (!past) return gettext("Loading…");
  if (!past.now && !past.slots) return gettext("Nothing was kept of this moment.");
  if (!past.slots) return gettext("Of the slots nothing was kept of this moment.");
  return fill(gettext("Slots as of %(time)s"), { time: dateTime(past.slots_ms) });
}
