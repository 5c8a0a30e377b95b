// Who acquired and released which slots, newest first.
import { h, replace } from "../core/dom.js";
import { count, dateTime, time } from "../core/format.js";
import { topicAddress } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";

/** @type {Record<string, string>} */
const EVENTS = {
  acquired: gettext("took over"),
  released: gettext("gave up"),
  unfenced: gettext("handed back to shared mode"),
};

export class Timeline {
  constructor(/** @type {string} */ title) {
    this.list = h("ol", { class: "rc-timeline" });
    this.element = h(
      "section",
      { class: "rc-card", "aria-label": title },
      h("header", {}, h("h2", {}, title)),
      this.list,
    );
    this.shown = "";
  }

  update(/** @type {Live.OwnershipEvent[]} */ events) {
    const key = JSON.stringify(events);
    if (key === this.shown) return;
    this.shown = key;
    replace(
      this.list,
      events.length ? events.map(line) : h("li", { class: "rc-muted" }, gettext("No slot has changed hands lately.")),
    );
  }
}

function line(/** @type {Live.OwnershipEvent} */ event) {
  const number = fill(ngettext("%(n)s slot", "%(n)s slots", event.count), { n: count(event.count) });
  return h(
    "li",
    { class: `rc-event rc-event-${event.event}` },
    h("time", { title: dateTime(event.at_ms) }, time(event.at_ms)),
    h(
      "span",
      {},
      h("strong", {}, event.worker || gettext("an operator")),
      ` ${EVENTS[event.event] ?? event.event} ${number}`,
      event.topic
        ? [gettext(" of "), h("a", { class: "rc-link", href: topicAddress(event.topic, "slots") }, event.topic)]
        : null,
      h("span", { class: "rc-muted rc-mono rc-clip", title: event.slots }, `\u00a0${event.slots}`),
      event.reason ? h("span", { class: "rc-muted" }, ` · ${event.reason}`) : null,
    ),
  );
}
