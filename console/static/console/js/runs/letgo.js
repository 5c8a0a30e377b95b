// What the archive has let go: what somebody erased, and what its topics want no longer.
import { get } from "../core/api.js";
import { h, headRow, refill, setText } from "../core/dom.js";
import { bytes, dateTime, exact } from "../core/format.js";
import { fill, gettext, messageOf } from "../core/text.js";

/** What was let go of a topic, in a sentence. */
export function sentence(/** @type {Api.LetGo} */ each) {
  return fill(gettext("before %(before)s; transitions: %(transitions)s; days: %(days)s; freed: %(bytes)s"), {
    before: each.before,
    transitions: exact(each.transitions),
    days: exact(each.days),
    bytes: bytes(each.freed_bytes),
  });
}

/** @typedef {{ at: number, line: HTMLElement }} Row */

export class LetGoCard {
  constructor() {
    this.shown = "";
    this.body = h("tbody");
    this.note = h("p", { class: "rc-muted", hidden: true });
    this.damaged = h("p", { class: "rc-error", hidden: true });
    this.element = h(
      "section",
      { class: "rc-card rc-flush", hidden: true, "aria-label": gettext("What the archive has let go") },
      h("header", { class: "rc-toolbar" }, h("h2", { class: "rc-strong" }, gettext("What the archive has let go"))),
      this.note,
      this.damaged,
      h(
        "div",
        { class: "rc-scroll" },
        h(
          "table",
          { class: "rc-table" },
          headRow([gettext("When"), gettext("Why"), gettext("Topics"), gettext("What")]),
          this.body,
        ),
      ),
    );
  }

  async load() {
    try {
      this.show(await get("reconciliations/forgotten"));
    } catch (problem) {
      this.element.hidden = this.note.hidden = false;
      setText(this.note, messageOf(problem));
    }
  }

  show(/** @type {Api.Forgetting} */ found) {
    const text = JSON.stringify([found.erasures, found.let_go, found.damaged, found.here]);
    if (text === this.shown) return;
    this.shown = text;
    const rows = [...found.erasures.map(erasure), ...found.let_go.map(retained)].sort((a, b) => b.at - a.at);
    this.element.hidden = found.here && rows.length === 0 && found.damaged.length === 0;
    this.damaged.hidden = found.damaged.length === 0;
    setText(
      this.damaged,
      fill(
        gettext(
          "These records of the archive cannot be read, so what they tell is not known here: %(files)s. Bring them back from a backup; until then no older report repairs what may have been erased.",
        ),
        { files: found.damaged.join(", ") },
      ),
    );
    this.note.hidden = found.here;
    setText(this.note, gettext("The archive is not on this machine: its own records are read there."));
    refill(
      this.body,
      rows.map((each) => each.line),
    );
  }
}

/** @returns {Row} */
function erasure(/** @type {Api.ErasureDone} */ each) {
  const what = fill(
    gettext("messages: %(messages)s; transitions: %(transitions)s; days: %(days)s; told of by: %(mentioning)s"),
    {
      messages: exact(each.messages),
      transitions: exact(each.transitions),
      days: exact(each.days),
      mentioning: exact(each.mentioning),
    },
  );
  const stopped = gettext("begun, and stopped in the middle: run it again");
  const why = [gettext("erased"), each.reason].filter(Boolean).join(": ");
  return row(each.done_ms ?? each.begun_ms, why, each.topics.join(", "), each.done_ms === null ? stopped : what);
}

/** @returns {Row} */
function retained(/** @type {Api.Retained} */ each) {
  return row(each.at_ms, gettext("its archive period is over"), each.topic, sentence(each));
}

/** @returns {Row} */
function row(
  /** @type {number} */ at,
  /** @type {string} */ why,
  /** @type {string} */ topics,
  /** @type {string} */ what,
) {
  const line = h(
    "tr",
    {},
    h("th", { scope: "row" }, dateTime(at)),
    h("td", {}, why),
    h("td", {}, topics),
    h("td", {}, what),
  );
  return { at, line };
}
