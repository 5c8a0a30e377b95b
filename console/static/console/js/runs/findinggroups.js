// Findings by kind and topic, with a repair of each; of a kind in several topics first one for all of them.
import { h } from "../core/dom.js";
import { exact } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { FINDINGS, REPAIRS } from "./runwords.js";

/** @typedef {(request: { repair: string, kind: string, topic?: string }, label: string) => Node} Button */

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
 */
export function groupRows(groups, button) {
  const wide = acrossTopics(groups);
  return groups.flatMap((group) => {
    const some = wide.find((each) => each[0] === group);
    return some ? [rowOfAll(some, button), rowOf(group, button)] : [rowOf(group, button)];
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
 */
function rowOf({ kind, repair, topic, n, open }, button) {
  const can = repair !== "none" && open;
  return row(kind, `${topic} · ${exact(n)}`, can ? button({ repair, kind, topic }, all(repair, open)) : null);
}

function all(/** @type {string} */ repair, /** @type {number} */ open) {
  return fill(gettext("%(repair)s: all %(n)s…"), { repair: REPAIRS[repair], n: exact(open) });
}

/**
 * @param {string} kind
 * @param {string} about
 * @param {Node | null} action
 */
function row(kind, about, action) {
  return h("div", { class: "rc-group" }, h("strong", {}, FINDINGS[kind] ?? kind), h("span", {}, about), action);
}
