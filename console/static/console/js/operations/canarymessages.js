// Those of an operation that went first, and what became of each of them.
import { h, headRow, refill, setText } from "../core/dom.js";
import { exact } from "../core/format.js";
import { topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";

/** What became of a message, and how that looks. @type {Record<string, [string, string]>} */
const FATES = {
  died: [gettext("died"), "dead"],
  under_way: [gettext("under way"), "neutral"],
  not_due: [gettext("waits until it is due"), "neutral"],
  well: [gettext("ended well"), "good"],
};

export class CanaryMessages {
  constructor() {
    this.shown = "";
    this.body = h("tbody");
    this.words = h("span", { class: "rc-muted" });
    const title = gettext("The canary: what became of it");
    this.element = h(
      "section",
      { class: "rc-card rc-flush", "aria-label": title, hidden: true },
      h("header", { class: "rc-toolbar" }, h("h2", { class: "rc-strong" }, title), this.words),
      h(
        "div",
        { class: "rc-scroll rc-tall", tabindex: "0", role: "group", "aria-label": title },
        h(
          "table",
          { class: "rc-table" },
          headRow([gettext("Id"), [gettext("Slot"), "rc-num"], gettext("What became of it")]),
          this.body,
        ),
      ),
    );
  }

  update(/** @type {Api.OperationDetail} */ { canary, canary_messages: messages, topic }) {
    this.element.hidden = !canary || !messages.length;
    if (!canary || this.element.hidden) return;
    const { sent, well, died, under_way: way } = canary;
    const counts = { sent: exact(sent), well: exact(well), died: exact(died), way: exact(way) };
    setText(this.words, fill(gettext("%(sent)s went first: %(well)s well, %(died)s died, %(way)s under way"), counts));
    const key = JSON.stringify(messages);
    if (this.shown === key) return;
    this.shown = key;
    refill(
      this.body,
      messages.map((each) => line(each, topic)),
    );
  }
}

/**
 * @param {Api.CanaryMessage} each
 * @param {string} topic
 */
function line(each, topic) {
  const [words, look] = FATES[each.fate];
  const query = new URLSearchParams({ id: each.id ?? "", slot: String(each.slot) });
  const name =
    each.id === null
      ? gettext("(hidden)")
      : h("a", { class: "rc-link", "data-key": each.id, href: `${topicAddress(topic, "message")}?${query}` }, each.id);
  return h(
    "tr",
    {},
    h("td", { class: "rc-mono rc-id" }, name),
    h("td", { class: "rc-num" }, exact(each.slot)),
    h("td", {}, h("span", { class: `rc-tag rc-tag-${look}` }, words)),
  );
}
