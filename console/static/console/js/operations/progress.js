// How far an operation is: a bar of what was done, skipped and failed, with the numbers beside it.
import { h, setText } from "../core/dom.js";
import { exact } from "../core/format.js";
import { fill, gettext } from "../core/text.js";

/** @type {("done" | "skipped" | "failed")[]} */
const PARTS = ["done", "skipped", "failed"];

export class Progress {
  constructor(/** @type {string} */ label) {
    this.bars = PARTS.map((name) => h("span", { class: `rc-progress-${name}` }));
    this.bar = h(
      "div",
      { class: "rc-progress", role: "progressbar", "aria-label": label, "aria-valuemin": 0 },
      this.bars,
    );
    this.words = h("span", { class: "rc-progress-words" });
    this.element = h("div", { class: "rc-progress-box" }, this.bar, this.words);
  }

  update(/** @type {Api.OperationView} */ operation) {
    const handled = operation.done + operation.skipped + operation.failed;
    const ended = operation.state === "done";
    // An estimate can be too low, and what matched when it was counted may be gone by now.
    const whole = ended ? Math.max(handled, 1) : Math.max(operation.total, handled, 1);
    for (const [at, name] of PARTS.entries()) this.bars[at].style.width = `${(100 * operation[name]) / whole}%`;
    if (ended && !handled) this.bars[0].style.width = "100%";
    this.bar.setAttribute("aria-valuemax", String(whole));
    this.bar.setAttribute("aria-valuenow", String(ended ? whole : handled));
    this.bar.dataset.state = operation.state;
    const of = operation.total_exact
      ? fill(gettext("%(n)s of %(all)s"), { n: exact(handled), all: exact(operation.total) })
      : fill(gettext("%(n)s of about %(all)s"), { n: exact(handled), all: exact(operation.total) });
    setText(this.words, `${of} · ${Math.floor((100 * (ended ? whole : handled)) / whole)} %`);
  }
}
