// Findings by kind, topic and cause, with a repair of each kind; of one in several topics first one for all of them.
import { h } from "../core/dom.js";
import { exact } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { causeWords } from "./causes.js";
import { FINDINGS, REPAIRS } from "./runwords.js";

/** @typedef {(request: { repair: string, kind: string, topic?: string }, label: string) => Node} Button */
/** @typedef {(values: { kind: string, topic: string, cause: string }) => void} Choose */

/**
 * Those of one kind and repair that can be begun in more than one topic.
 * @param {Api.Group[]} groups
 */
export function acrossTopics(groups) {
  /** @type {Map<string, Api.Group[]>} */
  const alike = new Map();
  for (const group of groups.filter((each) => each.repair !== "none" && each.open)) {
    const key = `${group.kind} ${group.repair}`;
    alike.set(key, [...(alike.get(key) ?? []), group]);
  }
  return [...alike.values()].filter((some) => some.length > 1);
}

/**
 * @param {Api.Group[]} groups
 * @param {Button} button
 * @param {Choose} choose
 */
export function groupRows(groups, button, choose) {
  const wide = acrossTopics(groups);
  return groups.flatMap((group) => {
    const some = wide.find((each) => each[0] === group);
    return some ? [rowOfAll(some, button), rowOf(group, button, choose)] : [rowOf(group, button, choose)];
  });
}

/**
 * @param {Api.Group[]} some
 * @param {Button} button
 */
function rowOfAll(some, button) {
  const [{ kind, repair }] = some;
  const open = some.reduce((sum, each) => sum + each.open, 0);
  const topics = fill(ngettext("%(n)s topic", "%(n)s topics", some.length), { n: exact(some.length) });
  return row(kind, `${topics} · ${exact(open)}`, button({ repair, kind }, all(repair, open)));
}

/**
 * @param {Api.Group} group
 * @param {Button} button
 * @param {Choose} choose
 */
function rowOf({ kind, repair, topic, n, open, causes }, button, choose) {
  const can = repair !== "none" && open;
  const action = can ? button({ repair, kind, topic }, all(repair, open)) : null;
  const some = causes.map(({ cause, n: of }) =>
    h(
      "button",
      {
        type: "button",
        class: "rc-link",
        title: gettext("Show these findings alone"),
        onclick: () => choose({ kind, topic, cause }),
      },
      `${causeWords(cause)} · ${exact(of)}`,
    ),
  );
  return row(kind, `${topic} · ${exact(n)}`, action, some);
}

function all(/** @type {string} */ repair, /** @type {number} */ open) {
  return fill(gettext("%(repair)s: all %(n)s…"), { repair: REPAIRS[repair], n: exact(open) });
}

/**
 * @param {string} kind
 * @param {string} about
 * @param {Node | null} action
 * @param {Node[]} causes
 */
function row(kind, about, action, causes = []) {
  const of = causes.length ? h("div", { class: "rc-causes" }, causes) : null;
  return h("div", { class: "rc-group" }, h("strong", {}, FINDINGS[kind] ?? kind), h("span", {}, about), action, of);
}
