// Another position for a consumer group: where to, what that would do slot by slot, then the last click.

import { aboutThis, ofTopic, post } from "../core/api.js";
import { serverNow } from "../core/clock.js";
import { h, headRow, press, replace } from "../core/dom.js";
import { count, exact } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { inZone, momentIn, putMoment } from "../core/zone.js";
import { ask } from "../parts/ask.js";
import { CommandLine } from "../parts/command.js";
import { slotNumbers } from "./slotnumbers.js";

/** @typedef {{ name: string, group: string, created_ms: number }} Group */

const PAUSE_MS = 350;
const SLOTS_SHOWN = 200;
/** @type {Record<string, string>} */
const WHERES = {
  start: gettext("Start"),
  end: gettext("End"),
  time: gettext("Time"),
  id: gettext("Behind an id"),
};
/** @type {Record<string, string>} */
const SAY = {
  start: gettext("Everything that the stream keeps is read again."),
  end: gettext("What is there now is passed over; what comes is read."),
  time: gettext("What came then and since is read."),
  id: gettext("What stands behind this entry is read."),
};

/**
 * `group`: {group, name}; `topic`: its stream; `onDone()` after it was moved.
 * @param {string} topic
 * @param {Group} group
 * @param {() => void} onDone
 */
export function moveDialog(topic, group, onDone) {
  new MoveDialog(topic, group, onDone).choose("start");
}

class MoveDialog {
  /**
   * @param {string} topic
   * @param {Group} group
   * @param {() => void} onDone
   */
  constructor(topic, group, onDone) {
    this.path = ofTopic(topic, `/groups/${group.group}:move`);
    this.about = aboutThis(group);
    this.where = "start";
    this.segments = h(
      "div",
      { class: "rc-segments", role: "group", "aria-label": gettext("Where to") },
      Object.entries(WHERES).map(([name, label]) =>
        h("button", { type: "button", dataset: { name }, onclick: () => this.choose(name) }, label),
      ),
    );
    this.say = h("p", { class: "rc-muted" });
    const changed = () => this.changed(PAUSE_MS);
    this.time = h("input", { class: "rc-input", type: "datetime-local", step: 1, name: "time", oninput: changed });
    this.id = h("input", {
      class: "rc-input rc-mono",
      name: "id",
      placeholder: "1764000000000-0",
      autocomplete: "off",
      oninput: changed,
    });
    this.slots = h("input", {
      class: "rc-input rc-mono",
      name: "slots",
      placeholder: gettext("all slots"),
      autocomplete: "off",
      oninput: changed,
    });
    this.timeLabel = h("label", {}, inZone(gettext("From this time on")), this.time);
    this.idLabel = h("label", {}, gettext("The entry's id"), this.id);
    this.plan = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" });
    this.command = new CommandLine();
    this.command.element.hidden = true;
    this.ask = ask({
      title: fill(gettext("Set the position of %(group)s"), { group: group.name }),
      body: [
        this.segments,
        this.say,
        this.timeLabel,
        this.idLabel,
        h("label", {}, gettext("Only these slots, such as 0-7,12"), this.slots),
        h("h3", {}, gettext("What it would do")),
        this.plan,
        this.command.element,
      ],
      label: gettext("Set the position"),
      wide: true,
      submit: async ({ reason }) => {
        /** @type {Api.MovePlan} */
        const done = await post(this.path, { ...this.wanted(), reason }, this.about);
        toast(fill(gettext("The position is set: %(n)s are ahead now."), { n: count(done.lag) }), "success");
        onDone();
      },
    });
  }

  choose(/** @type {string} */ name) {
    this.where = name;
    press(this.segments, name);
    replace(this.say, SAY[name]);
    this.timeLabel.hidden = name !== "time";
    this.idLabel.hidden = name !== "id";
    if (name === "time" && !this.time.value) putMoment(this.time, serverNow() - 3_600_000);
    this.changed(0);
  }

  /** What to ask for; null where something is missing. */
  wanted() {
    /** @type {Record<string, string | number>} */
    const typed = { time: momentIn(this.time), id: this.id.value.trim() };
    const to = typed[this.where] ?? this.where;
    if (to === "" || Number.isNaN(to)) return null;
    try {
      return { to, slots: slotNumbers(this.slots.value) };
    } catch {
      return null;
    }
  }

  changed(/** @type {number} */ pause) {
    this.ask.plan(
      this.plan,
      () => this.look(),
      (plan) => this.show(plan),
      pause,
    );
  }

  /** @returns {Promise<Api.MovePlan | null>} */
  async look() {
    const wanted = this.wanted();
    this.command.element.hidden = true;
    return wanted && post(this.path, { ...wanted, validate_only: true }, this.about);
  }

  show(/** @type {Api.MovePlan | null} */ plan) {
    if (!plan) return replace(this.plan, h("p", { class: "rc-muted" }, gettext("Something is missing yet.")));
    replace(this.plan, planView(plan));
    this.command.show(plan.command);
    this.command.element.hidden = false;
    this.ask.hold(false);
  }
}

/** Sums, then each slot before and after. */
function planView(/** @type {Api.MovePlan} */ plan) {
  const words = [
    fill(gettext("Ahead: %(before)s now, %(after)s then."), { before: exact(plan.lag_before), after: exact(plan.lag) }),
  ];
  if (plan.again)
    words.push(
      fill(ngettext("%(n)s entry is read again.", "%(n)s entries are read again.", plan.again), {
        n: exact(plan.again),
      }),
    );
  if (plan.skipped)
    words.push(
      fill(ngettext("%(n)s entry is passed over.", "%(n)s entries are passed over.", plan.skipped), {
        n: exact(plan.skipped),
      }),
    );
  const shown = plan.slots.slice(0, SLOTS_SHOWN);
  return [
    h("p", {}, h("strong", {}, words.join(" "))),
    h("p", { class: "rc-muted" }, gettext("What is under way stays so, and is not read twice.")),
    h(
      "div",
      { class: "rc-scroll rc-tall", tabindex: "0" },
      h(
        "table",
        { class: "rc-table" },
        headRow([
          gettext("Slot"),
          [gettext("Read up to, now"), "rc-less"],
          gettext("Read up to, then"),
          [gettext("Ahead now"), "rc-num"],
          [gettext("Ahead then"), "rc-num"],
        ]),
        h(
          "tbody",
          {},
          shown.map((slot) =>
            h(
              "tr",
              { class: slot.lag === slot.lag_before ? "rc-muted" : null },
              h("th", { scope: "row" }, String(slot.slot)),
              h("td", { class: "rc-mono rc-less" }, slot.behind_before ?? "–"),
              h("td", { class: "rc-mono" }, slot.behind),
              h("td", { class: "rc-num" }, exact(slot.lag_before)),
              h("td", { class: "rc-num" }, exact(slot.lag)),
            ),
          ),
        ),
      ),
    ),
    plan.slots.length > shown.length
      ? h("p", { class: "rc-muted" }, fill(gettext("The first %(n)s are shown."), { n: count(shown.length) }))
      : null,
  ];
}
