// How far a run is: a bar, its stage, and its percentage.
import { h, setText } from "../core/dom.js";
import { exact } from "../core/format.js";
import { isLive, STAGES } from "./runwords.js";

export class RunBar {
  constructor(/** @type {string} */ label) {
    this.fill = h("span", { class: "rc-progress-done" });
    this.bar = h(
      "div",
      { class: "rc-progress", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100 },
      this.fill,
    );
    this.words = h("span", { class: "rc-progress-words" });
    this.element = h("div", { class: "rc-progress-box" }, this.bar, this.words);
  }

  update(/** @type {Api.Run} */ run) {
    this.fill.style.width = `${run.percent}%`;
    this.bar.dataset.state = run.state;
    this.bar.setAttribute("aria-valuenow", String(run.percent));
    const stage = run.stages.at(-1);
    const steps = stage && stage.total > 1 ? ` ${exact(stage.done)}/${exact(stage.total)}` : "";
    const where = isLive(run) && stage ? ` · ${STAGES[stage.name] ?? stage.name}${steps}` : "";
    setText(this.words, `${run.percent} %${where}`);
  }
}
