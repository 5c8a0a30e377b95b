// What becomes due in the coming minutes, hours or days, against what is drained.

import { Bars } from "../charts/bars.js";
import { get, ofTopic } from "../core/api.js";
import { h } from "../core/dom.js";
import { count } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { Choice } from "../parts/choice.js";

const AGAIN_MS = 30_000;
const EVERY = 5; // so many bars have a label under one of them
/** @type {Record<string, string>} */
const LABELS = { minutes: gettext("+%(n)s min"), hours: gettext("+%(n)s h"), days: gettext("+%(n)s d") };

export class Forecast {
  /** `live` says when to stand still. The minutes come with its frames, the rest is asked for while it is looked at. */
  constructor(/** @type {import("../core/live.js").Live} */ live) {
    this.live = live;
    /** @type {[number[], number | null] | null} */
    this.pushed = null;
    this.asked = 0;
    this.unit = new Choice(
      gettext("Forecast of"),
      "due",
      [
        ["minutes", gettext("Minutes")],
        ["hours", gettext("Hours")],
        ["days", gettext("Days")],
      ],
      () => this.look(true),
    );
    this.bars = new Bars(gettext("Forecast: messages due"), {
      unit: gettext("messages"),
      empty: gettext("Nothing becomes due in this time."),
      note: h("div", {}, this.unit.element),
    });
    this.element = this.bars.element;
  }

  /** `due` of each coming minute; `drained` per minute, null: not known. */
  update(/** @type {number[]} */ due, /** @type {number | null} */ drained) {
    this.pushed = [due, drained];
    this.look(false);
  }

  look(/** @type {boolean} */ now) {
    const unit = this.unit.value;
    if (unit === "minutes") {
      this.asked = 0;
      if (this.pushed) this.draw(unit, ...this.pushed);
    } else if (now || Date.now() - this.asked > AGAIN_MS) this.ask(unit);
  }

  async ask(/** @type {string} */ unit) {
    this.asked = Date.now();
    try {
      /** @type {Api.DueForecast} */
      const found = await get(ofTopic(page.topic.name, "/forecast"), { unit });
      if (this.unit.value !== unit) return; // somebody has chosen another one meanwhile
      const drained = found.out_s === null ? null : Math.round((found.out_s * found.step_ms) / 1000);
      this.draw(unit, found.due, drained, found.waiting);
    } catch (problem) {
      if (this.unit.value === unit) this.bars.update([], messageOf(problem));
    }
  }

  /**
   * @param {string} unit
   * @param {number[]} due
   * @param {number | null} drained
   * @param {number[] | null} [waiting]
   */
  draw(unit, due, drained, waiting = /** @type {number[] | null} */ (null)) {
    const bars = due.map(
      (number, step) =>
        /** @type {import("../charts/bars.js").Bar} */ ([
          fill(LABELS[unit], { n: step + 1 }),
          number,
          step % EVERY === EVERY - 1 || (unit === "days" && step === 0),
        ]),
    );
    this.bars.update(bars, note(unit, drained, waiting), drained);
  }
}

/** @type {Record<string, string>} */
const DRAINED = {
  minutes: gettext("The line is what was drained per minute lately: %(n)s."),
  hours: gettext("The line is what is drained in an hour at the pace of late: %(n)s."),
  days: gettext("The line is what is drained in a day at the pace of late: %(n)s."),
};

/**
 * @param {string} unit
 * @param {number | null} drained
 * @param {number[] | null | undefined} waiting
 */
function note(unit, drained, waiting) {
  if (drained === null) return gettext("No drain rate measured yet.");
  const line = fill(DRAINED[unit], { n: count(drained) });
  const most = waiting?.length ? Math.max(...waiting) : 0;
  if (!waiting || !most) return line;
  const when = fill(LABELS[unit], { n: waiting.indexOf(most) + 1 });
  return `${line} ${fill(gettext("At most %(n)s would wait (%(when)s)."), { n: count(most), when })}`;
}
