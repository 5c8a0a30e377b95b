// The history of a definition: who, when, why, what; and the way back.
import { get, ofTopic } from "../core/api.js";
import { h, headRow, replace } from "../core/dom.js";
import { count, dateTime } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { shown } from "./definitionform.js";
import { fieldOf } from "./plandialog.js";

const PAGE = 20;
/** Its place on the page, for links. */
export const HISTORY = "rc-history";
/** @type {Record<string, string>} */
const CHANGES = {
  found: gettext("first seen"),
  created: gettext("created"),
  edited: gettext("edited"),
  rolled_back: gettext("rolled back"),
  deleted: gettext("deleted"),
};

export class Revisions {
  /**
   * `onRollback(revision)`; `missing`: why that is not allowed, or null.
   * @param {(revision: Api.Revision) => void} onRollback
   * @param {string | null} missing
   */
  constructor(onRollback, missing) {
    this.onRollback = onRollback;
    this.missing = missing;
    /** @type {Api.Revision[]} */
    this.rows = [];
    /** @type {string | null} */
    this.next = null;
    this.body = h("tbody");
    this.more = h(
      "button",
      { type: "button", class: "rc-button", onclick: () => this.load(this.next) },
      gettext("Load more"),
    );
    this.note = h("p", { class: "rc-error", role: "alert", hidden: true });
    this.foot = h("div", { class: "rc-more", hidden: true }, this.more);
    this.element = h(
      "section",
      { class: "rc-card rc-flush", id: HISTORY, "aria-label": gettext("History") },
      h("h2", { class: "rc-card-title rc-strong" }, gettext("History")),
      h(
        "div",
        { class: "rc-scroll", tabindex: "0" },
        h(
          "table",
          { class: "rc-table rc-blocks rc-history" },
          headRow([
            [gettext("Version"), "rc-num"],
            gettext("When"),
            gettext("Who"),
            gettext("What"),
            gettext("Why"),
            h("span", { class: "rc-sr" }, gettext("Roll back")),
          ]),
          this.body,
        ),
      ),
      this.note,
      this.foot,
    );
  }

  /** Newest first, or what follows `cursor`. */
  async load(/** @type {string | null} */ cursor = null) {
    try {
      /** @type {Api.Revisions} */
      const found = await get(ofTopic(page.topic.name, "/revisions"), { limit: PAGE, cursor });
      this.rows = cursor ? [...this.rows, ...found.revisions] : found.revisions;
      this.next = found.next;
      this.foot.hidden = found.next === null;
      this.note.hidden = true;
      replace(
        this.body,
        this.rows.map((row, position) => this.line(row, position === 0)),
      );
    } catch (problem) {
      replace(this.note, messageOf(problem));
      this.note.hidden = false;
    }
  }

  line(/** @type {Api.Revision} */ row, /** @type {boolean} */ isNow) {
    return h(
      "tr",
      {},
      h("td", { class: "rc-num", dataset: { title: gettext("Version") } }, count(row.version)),
      h("td", {}, h("time", {}, dateTime(row.at_ms))),
      h("td", { class: row.by_code ? "rc-muted" : "rc-strong" }, row.who),
      h("td", { class: "rc-whole" }, what(row)),
      h(
        "td",
        { class: row.reason ? "rc-why rc-whole" : "rc-why rc-less" },
        row.reason || h("span", { class: "rc-muted" }, "–"),
      ),
      h(
        "td",
        { class: "rc-num" },
        isNow || !row.definition
          ? isNow
            ? h("span", { class: "rc-tag rc-tag-good" }, gettext("now"))
            : null
          : this.button(row),
      ),
    );
  }

  button(/** @type {Api.Revision} */ row) {
    return h(
      "button",
      {
        type: "button",
        class: "rc-button rc-small",
        "aria-disabled": this.missing ? "true" : null,
        title: this.missing,
        "aria-label": fill(gettext("Roll back to version %(version)s"), { version: row.version }),
        onclick: () => this.onRollback(row),
      },
      gettext("Roll back"),
    );
  }
}

function what(/** @type {Api.Revision} */ row) {
  const changes = row.difference.map(({ field, before, after }) => {
    const known = fieldOf(field);
    return h(
      "li",
      {},
      `${known?.label ?? field}: `,
      h("del", {}, shown(known, before)),
      " → ",
      h("ins", {}, shown(known, after)),
    );
  });
  return [
    h("span", { class: "rc-muted" }, CHANGES[row.change] ?? row.change),
    changes.length ? h("ul", { class: "rc-changes" }, changes) : null,
  ];
}
