// Messages that are sent again and again: when each is due next, what it did, and one more by hand.

import { param, setParams } from "../core/address.js";
import { get, patch, post } from "../core/api.js";
import { serverNow } from "../core/clock.js";
import { byId, h, replace, setText } from "../core/dom.js";
import { count, dateTime, duration, relative } from "../core/format.js";
import "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { Drawer } from "../parts/drawer.js";
import { pairList } from "../parts/failure.js";
import { guardedButton, guardedLink } from "../parts/guardedbutton.js";
import { LiveList } from "../parts/livelist.js";
import { condition, HOW, HOW_TAGS, MISFIRES, rhythm } from "../parts/recurringwords.js";

const { recurring: mayDefine, run_recurring: mayRun } = page.grants.actions;
const TICKS_SHOWN = 50;

/** @typedef {Api.RecurringOut & { id: string }} Item */

class Row {
  constructor(/** @type {Item} */ item) {
    this.tag = h("span");
    this.error = h("div", { class: "rc-muted rc-operation-query" });
    this.rhythm = h("td");
    this.next = h("td");
    this.last = h("td", { class: "rc-less" });
    this.buttons = h("div", { class: "rc-row-actions" });
    this.element = h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "rc-operation-name" },
        h("button", { type: "button", class: "rc-link", onclick: () => open(item.name) }, item.name),
        h("div", { class: "rc-muted" }, h("a", { class: "rc-link", href: topicAddress(item.topic) }, item.topic)),
      ),
      h("td", {}, this.tag, this.error),
      this.rhythm,
      this.next,
      this.last,
      h("td", {}, this.buttons),
    );
  }

  update(/** @type {Item} */ item, /** @type {number} */ now) {
    const [look, words] = condition(item);
    this.tag.className = `rc-tag rc-tag-${look}`;
    setText(this.tag, words);
    setText(this.error, item.error || item.description);
    setText(this.rhythm, rhythm(item));
    const next = item.enabled ? item.next_ms : null;
    setText(this.next, next === null ? "–" : relative(next, now));
    this.next.title = next === null ? "" : dateTime(next);
    replace(this.last, item.last ? [tickTag(item.last), " ", relative(item.last.at_ms, now)] : "–");
    this.last.title = item.last ? dateTime(item.last.at_ms) : "";
    const shown = `${item.enabled} ${item.etag}`;
    if (this.buttons.dataset.shown === shown) return; // what they do is done to what is shown
    this.buttons.dataset.shown = shown;
    replace(this.buttons, runButton(item), switchButton(item));
  }
}

const tickTag = (/** @type {Api.TickOut} */ tick) =>
  h("span", { class: `rc-tag rc-tag-${HOW_TAGS[tick.how] ?? "neutral"}` }, HOW[tick.how]);
const pathOf = (/** @type {string} */ name, /** @type {string} */ rest = "") =>
  `recurring/${encodeURIComponent(name)}${rest}`;

const runButton = (/** @type {Api.RecurringOut} */ item) =>
  guardedButton({ action: "run", symbol: "play_arrow", label: gettext("Run now"), missing: mayRun }, () =>
    ask({
      title: fill(gettext("Send %(name)s now"), item),
      body: [h("p", {}, gettext("One more message is sent; the ticks go on as they would."))],
      label: gettext("Run now"),
      reason: "optional",
      submit: async ({ reason }) => {
        /** @type {Api.TickOut} */
        const tick = await post(pathOf(item.name, ":run"), { reason }, { "If-Match": item.etag });
        toast(fill(gettext("Sent as %(message)s."), tick));
        list.restart();
      },
    }),
  );

const switchButton = (/** @type {Api.RecurringOut} */ item) =>
  guardedButton(
    {
      action: "switch",
      symbol: item.enabled ? "pause" : "play_circle",
      label: item.enabled ? gettext("Disable") : gettext("Enable"),
      missing: mayDefine,
    },
    () =>
      ask({
        title: fill(item.enabled ? gettext("Disable %(name)s") : gettext("Enable %(name)s"), item),
        body: [h("p", {}, gettext("Ticks while it is disabled are not made up for."))],
        label: item.enabled ? gettext("Disable") : gettext("Enable"),
        reason: "optional",
        submit: async ({ reason }) => {
          await patch(pathOf(item.name), { enabled: !item.enabled, reason }, item.etag);
          list.restart();
        },
      }),
  );

async function open(/** @type {string} */ name) {
  const drawer = new Drawer(name, () => setParams({ open: "" }));
  setParams({ open: name });
  drawer.show(h("p", { class: "rc-muted" }, gettext("Loading…")));
  try {
    const [item, { ticks }] = await Promise.all([
      get(pathOf(name)),
      get(pathOf(name, "/ticks"), { limit: TICKS_SHOWN }),
    ]);
    replace(drawer.extra, h("a", { href: `${page.forms}?q=${encodeURIComponent(name)}` }, gettext("Edit")));
    drawer.show(about(item), history(ticks));
  } catch (problem) {
    drawer.show(h("p", { class: "rc-error" }, messageOf(problem)));
  }
}

function about(/** @type {Api.RecurringWithUpcoming} */ item) {
  /** @type {Record<string, string>} */
  const when = { priority: gettext("Priority"), range_ms: gettext("Window"), in_ms: gettext("Delay") };
  const value = item.when === "priority" ? String(item.value) : duration(item.value);
  return h(
    "div",
    {},
    pairList([
      [gettext("Topic"), h("a", { class: "rc-link", href: topicAddress(item.topic) }, item.topic)],
      [gettext("When"), rhythm(item)],
      [when[item.when], value],
      [gettext("Jitter"), item.jitter_ms ? duration(item.jitter_ms) : "–"],
      [gettext("Missed ticks"), MISFIRES[item.misfire]],
      [gettext("From"), item.start_ms === null ? "–" : dateTime(item.start_ms)],
      [gettext("Until"), item.end_ms === null ? "–" : dateTime(item.end_ms)],
      [gettext("Expires after"), item.expires_ms === null ? gettext("as its topic says") : duration(item.expires_ms)],
      [
        gettext("Once within"),
        item.unique_for_ms === null ? gettext("as its topic says") : duration(item.unique_for_ms),
      ],
      [gettext("Tenant"), item.tenant || gettext("as its topic says")],
      [gettext("Defined in"), item.origin === "code" ? gettext("code") : gettext("the console")],
      [gettext("Error"), item.error || "–"],
    ]),
    h("h3", {}, gettext("Content")),
    item.content === null
      ? h("p", { class: "rc-masked" }, gettext("Hidden: reading content needs the permission “read_payload”."))
      : h("pre", { class: "rc-pre" }, item.content),
    h("h3", {}, gettext("Next ticks")),
    item.upcoming.length
      ? h(
          "ul",
          { class: "rc-rows" },
          item.upcoming.map((tick) => h("li", {}, dateTime(tick))),
        )
      : h("p", { class: "rc-muted" }, gettext("There are none.")),
  );
}

function history(/** @type {Api.TickOut[]} */ ticks) {
  const lines = ticks.map((tick) =>
    h(
      "li",
      {},
      h("span", {}, dateTime(tick.tick_ms)),
      tickTag(tick),
      tick.username ? h("span", { class: "rc-muted" }, tick.username) : null,
      tick.missed
        ? h(
            "span",
            { class: "rc-muted" },
            fill(ngettext("%(n)s missed", "%(n)s missed", tick.missed), { n: count(tick.missed) }),
          )
        : null,
    ),
  );
  return h(
    "div",
    {},
    h("h3", {}, gettext("History")),
    lines.length ? h("ul", { class: "rc-rows" }, lines) : h("p", { class: "rc-muted" }, gettext("No tick yet.")),
  );
}

const define = guardedLink({
  href: `${page.forms}add/`,
  symbol: "add",
  label: gettext("New recurring message"),
  missing: mayDefine,
});
const list = new LiveList({
  ask: async (query) => {
    /** @type {Api.RecurringList} */
    const { recurring, ...rest } = await get("recurring", query);
    return { ...rest, rows: recurring.map((item) => ({ ...item, id: item.name })) };
  },
  Row,
  isLive: (/** @type {Api.RecurringOut} */ item) =>
    item.enabled && item.next_ms !== null && item.next_ms - serverNow() < 10_000,
  label: gettext("Recurring"),
  columns: [
    [gettext("Name")],
    [gettext("State")],
    [gettext("When")],
    [gettext("Next")],
    [gettext("Last"), "rc-less"],
    [gettext("Actions")],
  ],
  empty: [
    "event_repeat",
    gettext("No recurring messages"),
    gettext("Define one here, over REST or in code: by a cron expression in a time zone, or by an interval."),
  ],
});
replace(
  byId("rc-page"),
  h("div", { class: "rc-head" }, define, h("div", { class: "rc-status" }, list.asOf)),
  list.element,
);
if (param("open")) open(param("open"));
