// Since when each topic is clean: no reconciliation from then on has found anything of it.
import { get } from "../core/api.js";
import { h, headRow, refill, setText, topicName } from "../core/dom.js";
import { dateTime, exact } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";

const NAMED_MOST = 20;
const SINCE = gettext("Clean since");
const LAST = gettext("Last reconciliation");

export class CleanCard {
  constructor() {
    this.shown = "";
    this.body = h("tbody");
    this.unrecorded = h("p", { class: "rc-muted rc-bars-note" }, unrecorded(page.unrecorded ?? []));
    this.table = h(
      "div",
      { class: "rc-scroll" },
      h("table", { class: "rc-table rc-blocks" }, headRow([gettext("Topic"), SINCE, LAST]), this.body),
    );
    this.note = h("p", { class: "rc-error", hidden: true });
    this.element = h(
      "section",
      { class: "rc-card rc-flush", hidden: true, "aria-label": gettext("Topics that are clean") },
      h("header", { class: "rc-toolbar" }, h("h2", { class: "rc-strong" }, gettext("Topics that are clean"))),
      this.note,
      this.table,
      this.unrecorded,
    );
  }

  async load() {
    try {
      const { topics } = await get("reconciliations/clean");
      this.note.hidden = true;
      this.show(topics);
    } catch (problem) {
      this.element.hidden = this.note.hidden = false;
      setText(this.note, messageOf(problem));
    }
  }

  show(/** @type {Api.CleanTopic[]} */ rows) {
    const text = JSON.stringify(rows);
    if (text === this.shown) return;
    this.shown = text;
    this.table.hidden = rows.length === 0;
    this.element.hidden = this.table.hidden && !page.unrecorded?.length;
    refill(this.body, rows.map(line));
  }
}

/** Of what nobody can say whether it is clean. */
function unrecorded(/** @type {string[]} */ names) {
  if (!names.length) return null;
  const few = names.slice(0, NAMED_MOST).join(", ") + (names.length > NAMED_MOST ? ", …" : "");
  return fill(
    ngettext(
      "%(n)s topic is not compared, for its journal is off: %(names)s",
      "%(n)s topics are not compared, for their journals are off: %(names)s",
      names.length,
    ),
    { n: exact(names.length), names: few },
  );
}

function line(/** @type {Api.CleanTopic} */ each) {
  const address = `${page.places.reconciliation}${each.run}/?${new URLSearchParams({ topic: each.topic })}`;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: topicAddress(each.topic) }, topicName(each.topic))),
    h(
      "td",
      { dataset: { title: SINCE } },
      each.clean_since_ms === null
        ? h("span", { class: "rc-tag rc-tag-failed" }, problems(each))
        : dateTime(each.clean_since_ms),
    ),
    h("td", { dataset: { title: LAST } }, h("a", { href: address }, dateTime(each.at_ms))),
  );
}

function problems(/** @type {Api.CleanTopic} */ each) {
  const found = fill(ngettext("%(n)s finding", "%(n)s findings", each.findings), { n: exact(each.findings) });
  return each.complete ? found : `${each.findings ? `${found} · ` : ""}${gettext("incomplete: journals have gaps")}`;
}
