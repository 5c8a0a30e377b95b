// One slot: what it holds, its ledger, what comes next, what is in flight.
import { param, setParams } from "../core/address.js";
import { get, ofTopic } from "../core/api.js";
import { all, focusedElement, h, icon } from "../core/dom.js";
import { count, dateTime, duration, exact, relative } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { openMessage } from "../messages/messagepanel.js";
import { Drawer } from "../parts/drawer.js";
import { pairList } from "../parts/failure.js";
import { whyView } from "../parts/why.js";
import { PriorityBands } from "./bands.js";
import { counterWords } from "./counterwords.js";

/** @import { Pair } from "../parts/failure.js" */

/** @typedef {import("../core/live.js").Live} Live */

const REFRESH_MS = 2000;

/**
 * Open the panel of a slot; `live` says when to stand still. Returns it.
 * @param {number} slot
 * @param {Live} live
 * @param {() => void} onClose
 */
export function openSlot(slot, live, onClose) {
  let timer = 0;
  const drawer = new Drawer(fill(gettext("Slot %(slot)s"), { slot }), () => {
    clearInterval(timer);
    if (param("slot") === String(slot)) setParams({ slot: "" });
    onClose();
  });
  setParams({ slot });
  const why = page.topic.kind === "stream" ? null : whyView({ slot });
  const bands = page.topic.kind === "priority" ? new PriorityBands(live, { slot }) : null;
  const load = async () => {
    if (live.paused || document.hidden) return;
    try {
      draw(drawer, await get(ofTopic(page.topic.name, `/slots/${slot}`)), live, why, bands);
      why?.load();
      bands?.load();
    } catch (problem) {
      drawer.show(h("p", { class: "rc-error" }, messageOf(problem)));
    }
  };
  drawer.show(h("p", { class: "rc-muted" }, gettext("Loading…")));
  load();
  timer = setInterval(load, REFRESH_MS);
  return drawer;
}

/**
 * @param {Drawer} drawer
 * @param {Api.SlotView} slot
 * @param {Live} live
 * @param {ReturnType<typeof whyView> | null} why
 * @param {PriorityBands | null} bands
 */
function draw(drawer, slot, live, why, bands) {
  // Keep the place while somebody reads or is about to press something.
  const { scrollTop } = drawer.body;
  const focus = drawer.body.contains(document.activeElement) ? focusedElement().textContent : null;
  if (page.topic.kind === "stream") return drawStream(drawer, slot, live);
  drawer.show(
    h("h3", {}, gettext("Why is it late?")),
    why?.element,
    pairList([
      ...owner(slot),
      .../** @type {Pair[]} */ (
        page.topic.kind === "group"
          ? [
              [gettext("Ahead of it"), slot.lag === null ? gettext("unknown") : count(slot.lag)],
              [gettext("Read up to"), h("span", { class: "rc-mono" }, slot.behind ?? "–")],
              [gettext("Missed"), count(slot.missed)],
            ]
          : [[gettext("Delayed"), count(slot.delayed)]]
      ),
      [gettext("Ready"), count(slot.ready)],
      [gettext("Retrying"), count(slot.retrying)],
      .../** @type {Pair[]} */ (slot.held ? [[gettext("Held"), count(slot.held)]] : []),
      [gettext("In flight"), count(slot.in_flight)],
      [gettext("Dead"), count(slot.dead)],
      [gettext("Due lag"), duration(slot.lag_ms)],
      [
        gettext("Next due"),
        slot.next_due_ms ? `${dateTime(slot.next_due_ms)} (${relative(slot.next_due_ms, live.nowMs())})` : "–",
      ],
      [gettext("Bodies kept"), count(slot.bodies)],
    ]),
    bands?.element,
    h("h3", {}, gettext("Ledger")),
    ledger(slot, taken(slot)),
    h("h3", {}, gettext("Next messages")),
    rows(
      slot.next,
      live,
      page.topic.kind === "group"
        ? gettext("Nothing has come back; what is ahead waits in the stream.")
        : gettext("Nothing waits here."),
    ),
    h("h3", {}, gettext("In flight, oldest first")),
    rows(slot.prepared, live, gettext("Nothing is in flight.")),
    h("h3", {}, gettext("Counters")),
    pairList(Object.entries(slot.counters).map(([name, value]) => [counterWords(name), exact(value)])),
  );
  drawer.body.scrollTop = scrollTop;
  if (focus)
    all(drawer.body, "a, button")
      .find((each) => each.textContent === focus)
      ?.focus();
}

/**
 * @param {Drawer} drawer
 * @param {Api.SlotView} slot
 * @param {Live} live
 */
function drawStream(drawer, slot, live) {
  const at = (/** @type {string | null} */ id) =>
    id === null ? "–" : h("span", {}, h("span", { class: "rc-mono" }, id), ` (${ago(id, live)})`);
  const c = slot.counters;
  drawer.show(
    pairList([
      [gettext("Entries kept"), count(slot.length)],
      [gettext("First"), at(slot.first_entry)],
      [gettext("Last"), at(slot.last_entry)],
    ]),
    h("h3", {}, gettext("Ledger")),
    ledger(
      slot,
      fill(gettext("added %(sent)s = trimmed %(trimmed)s + deleted %(deleted)s + kept %(held)s"), {
        sent: exact(c.sent),
        trimmed: exact(c.trimmed),
        deleted: exact(c.deleted),
        held: exact(slot.length),
      }),
    ),
  );
}

const ago = (/** @type {string} */ id, /** @type {Live} */ live) => relative(Number(id.split("-")[0]), live.nowMs());

/** @returns {Pair[]} */
function owner(/** @type {Api.SlotView} */ slot) {
  if (slot.epoch === null) return [[gettext("Owner"), gettext("shared: no owner")]];
  return [
    [gettext("Owner"), slot.owner ?? gettext("nobody")],
    [gettext("Since"), slot.owner ? dateTime(slot.owned_since_ms) : "–"],
    [gettext("Epoch"), slot.epoch],
  ];
}

function taken(/** @type {Api.SlotView} */ slot) {
  const c = slot.counters;
  const held = exact(slot.backlog + slot.in_flight + slot.dead);
  const ends =
    page.topic.kind === "group"
      ? [c.acked, c.cancelled, c.dropped]
      : [c.merged, c.duplicate, c.outdated, c.acked, c.cancelled, c.dropped, c.lapsed];
  const ended = ends.map(exact).join(" + ");
  return page.topic.kind === "group"
    ? fill(gettext("read %(sent)s = acked + cancelled + dropped (%(ended)s) + held (%(held)s)"), {
        sent: exact(c.sent),
        ended,
        held,
      })
    : fill(
        gettext(
          "sent %(sent)s = merged + duplicates + outdated + acked + cancelled + dropped + expired (%(ended)s) + held (%(held)s)",
        ),
        {
          sent: exact(c.sent),
          ended,
          held,
        },
      );
}

function ledger(/** @type {Api.SlotView} */ slot, /** @type {string} */ words) {
  const balanced = slot.ledger_gap === 0;
  return h(
    "div",
    { class: balanced ? "rc-ledger rc-ledger-good" : "rc-ledger rc-ledger-bad" },
    icon(balanced ? "check_circle" : "error"),
    h(
      "div",
      {},
      h(
        "strong",
        {},
        balanced ? gettext("Balances") : fill(gettext("Off by %(gap)s"), { gap: exact(slot.ledger_gap) }),
      ),
      h("p", {}, words),
    ),
  );
}

/**
 * @param {Api.Row[]} messages
 * @param {Live} live
 * @param {string} empty
 */
function rows(messages, live, empty) {
  if (!messages.length) return h("p", { class: "rc-muted" }, empty);
  return h(
    "ul",
    { class: "rc-rows" },
    messages.map((row) =>
      h(
        "li",
        {},
        h(
          "button",
          { type: "button", class: "rc-link rc-mono", onclick: () => openMessage(row, live.nowMs(), () => {}) },
          row.id ?? gettext("(hidden)"),
        ),
        h("span", { class: "rc-muted" }, detail(row, live)),
      ),
    ),
  );
}

function detail(/** @type {Api.Row} */ row, /** @type {Live} */ live) {
  if (row.priority !== null && row.at_ms === null) return fill(gettext("priority %(p)s"), { p: count(row.priority) });
  if (row.at_ms === null) return "";
  const away = relative(row.at_ms, live.nowMs());
  return row.state === "in_flight" ? fill(gettext("taken %(when)s"), { when: away }) : away;
}
