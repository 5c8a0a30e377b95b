// Versions of a key that wait for one before them: the list, and the dialog to go on without what is missing.
import { ofTopic, post } from "../core/api.js";
import { h } from "../core/dom.js";
import { count, dateTime, relative } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { ListCard } from "../parts/listcard.js";

/** @type {Record<string, string>} */
const AWAITED = {
  pending: gettext("waits"),
  in_flight: gettext("in flight"),
  dead: gettext("dead"),
  removed: gettext("removed"),
  missing: gettext("missing"),
};
const TITLES = [
  gettext("Key"),
  [gettext("Next version"), "rc-num"],
  gettext("Which is"),
  "",
  [gettext("Waiting"), "rc-num"],
  [gettext("From version"), "rc-num rc-less"],
  gettext("Since"),
  [gettext("Slot"), "rc-num rc-less"],
];
const path = (rest = "") => ofTopic(page.topic.name, `/order${rest}`);

/**
 * The keys of the topic that wait for their turn; nothing is shown where none does.
 * @extends {ListCard<Api.WaitingKey>}
 */
export class Order extends ListCard {
  /**
   * @param {() => number} nowMs
   * @param {() => any} onDone
   */
  constructor(nowMs, onDone) {
    super(path(), "rc-order", gettext("Keys that wait for a version"), TITLES);
    this.nowMs = nowMs;
    this.onDone = onDone;
    this.load();
  }

  show(/** @type {Api.OrderShown} */ { keys, waits }) {
    this.list(fill(gettext("Keys that wait for a version (%(n)s)"), { n: count(keys) }), waits);
  }

  line(/** @type {Api.WaitingKey} */ each) {
    const since = h("time", { title: dateTime(each.since_ms) }, relative(each.since_ms, this.nowMs()));
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "rc-mono rc-free" },
        each.key ?? h("span", { class: "rc-masked" }, gettext("(hidden)")),
      ),
      h("td", { class: "rc-num", dataset: { title: gettext("Next version") } }, String(each.next)),
      h("td", { class: each.blocked ? "rc-bad" : "" }, AWAITED[each.awaited]),
      h("td", {}, each.key === null ? null : this.skipButton(each)),
      h("td", { class: "rc-num", dataset: { title: gettext("Waiting") } }, count(each.held)),
      h("td", { class: "rc-num rc-less" }, String(each.lowest)),
      h("td", { class: "rc-one-line", dataset: { title: gettext("Since") } }, since),
      h("td", { class: "rc-num rc-less" }, count(each.slot)),
    );
  }

  skipButton(/** @type {Api.WaitingKey} */ each) {
    const missing = page.grants.actions.skip;
    const label = gettext("Skip");
    return guardedButton({ action: "skip", symbol: "step_over", label, missing, look: "rc-small" }, () =>
      this.skipDialog(each),
    );
  }

  skipDialog(/** @type {Api.WaitingKey} */ each) {
    ask({
      title: fill(gettext("Let %(key)s go on with version %(version)s?"), { key: each.key, version: each.lowest }),
      body: [
        h(
          "p",
          {},
          fill(
            ngettext(
              "%(n)s version waits for version %(next)s. What comes of it later is outdated, and is not delivered.",
              "%(n)s versions wait for version %(next)s. What comes of it later is outdated, and is not delivered.",
              each.held,
            ),
            { n: count(each.held), next: each.next },
          ),
        ),
      ],
      label: gettext("Skip"),
      reason: "needed",
      submit: async ({ reason }) => {
        const body = { key: each.key, instead_of: each.next, slot: each.slot, reason };
        const { next } = await post(path(":skip"), body);
        toast(fill(gettext("It goes on with version %(next)s."), { next }), "success");
        this.onDone();
      },
    });
  }
}
