// Above the charts: how much time is shown, closer, wider, earlier, later; and what a point stands for.
import { address, ofTopic } from "../core/api.js";
import { h, icon, press, replace, setText } from "../core/dom.js";
import { dateTime, duration } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { RANGES } from "./timeview.js";

/** @type {Record<string, string>} */
const LABELS = {
  1: gettext("1 min"),
  5: gettext("5 min"),
  15: gettext("15 min"),
  60: gettext("1 h"),
  360: gettext("6 h"),
  1440: gettext("24 h"),
  10080: gettext("7 d"),
  43200: gettext("30 d"),
  527040: gettext("1 year"),
};
const FORMATS = { csv: "CSV", jsonl: "JSON Lines" };

export class TimeBar {
  /** @param {import("./timeview.js").TimeView} view */
  constructor(view) {
    this.view = view;
    this.ranges = h(
      "div",
      { class: "rc-segments", role: "group", "aria-label": gettext("Time shown") },
      RANGES.map((range) =>
        h("button", { type: "button", dataset: { name: range }, onclick: () => view.follow(range) }, LABELS[range]),
      ),
    );
    this.later = this.button("chevron_right", gettext("Later"), () => view.move(0.5));
    this.steps = h(
      "span",
      { class: "rc-time-steps", role: "group", "aria-label": gettext("Move in time") },
      this.button("chevron_left", gettext("Earlier"), () => view.move(-0.5)),
      this.button("zoom_in", gettext("Closer"), () => view.zoom(0.5)),
      this.button("zoom_out", gettext("Wider"), () => view.zoom(2)),
      this.later,
      this.button("replay", gettext("Replay"), () => view.replay(view.at ?? view.span().from)),
    );
    this.words = h("span", { class: "rc-time-words", "aria-live": "polite" });
    this.note = h("span", { class: "rc-muted" });
    this.links = h("span", { class: "rc-time-links" });
    this.element = h(
      "div",
      { class: "rc-time" },
      this.ranges,
      this.steps,
      h("span", { class: "rc-time-about" }, this.words, this.note, this.links),
    );
  }

  /**
   * @param {string} symbol
   * @param {string} label
   * @param {() => void} onclick
   */
  button(symbol, label, onclick) {
    const attributes = { type: "button", class: "rc-icon-button", "aria-label": label, title: label, onclick };
    return h("button", attributes, icon(symbol));
  }

  /** @param {import("./history.js").History | null} history what the charts show, unless they show what is pushed */
  update(history) {
    const { fixed, range } = this.view;
    press(this.ranges, fixed ? "" : range);
    this.later.disabled = !fixed || fixed.to >= this.view.now();
    setText(this.words, fixed ? `${dateTime(fixed.from)} – ${dateTime(fixed.to)}` : "");
    setText(this.note, history ? about(history) : "");
    this.showLinks(history?.found);
  }

  showLinks(/** @type {any} */ found) {
    const key = found ? `${found.from_ms} ${found.to_ms} ${found.step_ms}` : "";
    if (this.links.dataset.key === key) return;
    this.links.dataset.key = key;
    if (!found?.points.length) return replace(this.links);
    const query = { from: found.from_ms, to: found.to_ms, step: found.step_ms };
    return replace(
      this.links,
      Object.entries(FORMATS).map(([form, label]) =>
        h("a", { href: address(ofTopic(page.topic.name, "/history:export"), { ...query, form }), download: "" }, label),
      ),
    );
  }
}

function about(/** @type {import("./history.js").History} */ history) {
  if (history.problem) return history.problem;
  if (!history.found) return gettext("Loading…");
  if (!history.found.points.length) return gettext("Nothing was kept of this time.");
  return fill(gettext("A point is %(step)s: rates are its mean, all else its highest value."), {
    step: duration(history.found.step_ms),
  });
}
