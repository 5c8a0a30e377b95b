// Two people changed one definition: what the other one did, what you were doing, and what becomes of it.
import { h, headRow } from "../core/dom.js";
import { dateTime } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { shown } from "./definitionform.js";
import { fieldOf } from "./plandialog.js";

/** @typedef {"theirs" | "mine"} Choice */

/**
 * `base`: what you began from; `theirs`: what is stored now; `mine`: the form. `choose("theirs" | "mine")`.
 * @param {{ base: Live.Definition, theirs: Live.Definition, mine: Live.Definition, revision: Api.Revision, choose: (choice: Choice) => void }} about
 */
export function conflictDialog({ base, theirs, mine, revision, choose }) {
  const names = Object.keys(mine).filter((name) => theirs[name] !== base[name] || mine[name] !== base[name]);
  const dialog = h("dialog", { class: "rc-dialog rc-wide", "aria-labelledby": "rc-conflict-title" });
  const end = (/** @type {Choice | null} */ choice) => {
    dialog.close();
    if (choice) choose(choice);
  };
  /**
   * @param {string} label
   * @param {Choice | null} choice
   * @param {string} [extra]
   */
  const button = (label, choice, extra = "") =>
    h("button", { type: "button", class: `rc-button${extra}`, onclick: () => end(choice) }, label);
  dialog.append(
    h("h2", { id: "rc-conflict-title" }, gettext("Somebody else saved first")),
    h(
      "p",
      {},
      fill(gettext("Version %(version)s was stored by %(who)s at %(time)s."), {
        who: revision.who,
        version: revision.version,
        time: dateTime(revision.at_ms),
      }),
      revision.reason ? ` ${gettext("Reason")}: ${revision.reason}` : null,
      ` ${gettext("Nothing of yours has been saved.")}`,
    ),
    h(
      "div",
      { class: "rc-scroll", tabindex: "0" },
      h(
        "table",
        { class: "rc-table rc-difference" },
        headRow([gettext("Field"), gettext("When you began"), gettext("Theirs, stored now"), gettext("Yours")]),
        h(
          "tbody",
          {},
          names.map((name) => line(name, base, theirs, mine)),
        ),
      ),
    ),
    h(
      "div",
      { class: "rc-dialog-buttons" },
      button(gettext("Back to the form"), null),
      button(gettext("Take their version"), "theirs"),
      button(gettext("Put my changes on top of theirs"), "mine", " rc-primary"),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * @param {string} name
 * @param {Live.Definition} base
 * @param {Live.Definition} theirs
 * @param {Live.Definition} mine
 */
function line(name, base, theirs, mine) {
  const field = fieldOf(name);
  const cell = (/** @type {any} */ value) =>
    h("td", {}, value === base[name] ? shown(field, value) : h("ins", {}, shown(field, value)));
  const clash = theirs[name] !== base[name] && mine[name] !== base[name] && theirs[name] !== mine[name];
  return h(
    "tr",
    { class: clash ? "rc-clash" : null },
    h(
      "th",
      { scope: "row" },
      field?.label ?? name,
      clash ? [" ", h("span", { class: "rc-tag" }, gettext("both changed it"))] : null,
    ),
    h("td", {}, shown(field, base[name])),
    cell(theirs[name]),
    cell(mine[name]),
  );
}
