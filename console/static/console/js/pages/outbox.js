// What was committed and is not sent yet, what failed, and what one does about that.
import { param, setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { byId, h, replace, setText } from "../core/dom.js";
import { bytes, count, dateTime, duration, relative } from "../core/format.js";
import "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { gettext, messageOf } from "../core/text.js";
import { Choice } from "../parts/choice.js";
import { Drawer } from "../parts/drawer.js";
import { pairList } from "../parts/failure.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { LiveList } from "../parts/livelist.js";
import { outboxDialog } from "../parts/outboxdialog.js";
import { OutboxTable } from "../parts/outboxtable.js";
import { Together } from "../parts/together.js";

/** @typedef {import("../parts/outboxdialog.js").Which} Which */

/** @type {Record<string, string>} */
const STATES = {
  waiting: gettext("Waiting"),
  parked: gettext("Parked"),
  sent: gettext("Sent"),
  discarded: gettext("Discarded"),
};
/** @type {Record<string, string>} */
const TAGS = { waiting: "neutral", parked: "warn", sent: "good", discarded: "dead" };
/** What says when each kind is delivered, and how that is written. @type {Record<string, [string, (value: number) => string]>} */
const KINDS = {
  priority: [gettext("Priority"), count],
  range_merge: [gettext("Window"), duration],
  delayed: [gettext("Delay"), duration],
  fixed_time: [gettext("Due"), dateTime],
  stream: [gettext("Entry"), () => ""],
  stream_fields: [gettext("Entry of fields"), () => ""],
};
const { retry_outbox: mayRetry, discard_outbox: mayDiscard } = page.grants.actions;
const wanted = param("database");
let database = page.databases.includes(wanted) ? wanted : page.databases[0];

class Row {
  constructor(/** @type {Api.OutboxRow} */ item) {
    this.tag = h("span");
    this.next = h("td");
    this.tries = h("td", { class: "rc-num", dataset: { title: gettext("Failed tries") } });
    this.error = h("div", { class: "rc-muted rc-operation-query" });
    this.written = h("time");
    this.buttons = h("div", { class: "rc-row-actions" });
    this.element = h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "rc-operation-name" },
        h("button", { type: "button", class: "rc-link", onclick: () => open(item.id) }, `#${item.id}`),
        " ",
        h("a", { class: "rc-link", href: topicAddress(item.topic) }, item.topic),
        h("div", { class: "rc-muted rc-operation-query" }, item.message ?? ""),
      ),
      h("td", {}, this.tag, this.error),
      this.tries,
      this.next,
      h("td", { class: "rc-less" }, this.written),
      h("td", {}, this.buttons),
    );
  }

  update(/** @type {Api.OutboxRow} */ item, /** @type {number} */ now) {
    this.tag.className = `rc-tag rc-tag-${TAGS[item.state]}`;
    const failing = item.state === "waiting" && item.tries > 0;
    setText(this.tag, item.sending ? gettext("being sent") : failing ? gettext("Retrying") : STATES[item.state]);
    setText(this.error, item.error);
    setText(this.tries, count(item.tries));
    const [words, at] = whenOf(item, now);
    setText(this.next, words);
    this.next.title = at ? dateTime(at) : "";
    setText(this.written, relative(item.written_ms, now));
    this.written.title = dateTime(item.written_ms);
    const acts = item.state === "parked" || (item.state === "waiting" && !item.sending);
    if (this.buttons.childElementCount > 0 === acts) return;
    replace(this.buttons, acts ? [retryButton({ ids: [item.id] }), discardButton({ ids: [item.id] })] : null);
  }
}

/**
 * When it is tried, or has ended: the words, and the moment.
 * @returns {[string, number | null]}
 */
function whenOf(/** @type {Api.OutboxRow} */ item, /** @type {number} */ now) {
  if (item.state !== "waiting") return [relative(item.at_ms, now), item.at_ms];
  if (item.at_ms <= now) return [gettext("next"), null];
  return [relative(item.at_ms, now), item.at_ms];
}

const retryButton = (/** @type {Which} */ which, /** @type {string} */ label = gettext("Retry")) =>
  guardedButton({ action: "retry", symbol: "replay", label, missing: mayRetry }, () =>
    decide(which, {
      path: "retry",
      title: which.all_parked ? label : gettext("Try it again now"),
      about: gettext("What came after a message that was parked may have been sent already."),
      label: gettext("Retry"),
      reason: "optional",
    }),
  );
const discardButton = (/** @type {Which} */ which, /** @type {string} */ label = gettext("Discard")) =>
  guardedButton({ action: "discard", symbol: "delete", label, missing: mayDiscard }, () =>
    decide(which, {
      path: "discard",
      title: which.all_parked ? label : gettext("Never send it"),
      about: gettext("What was committed stays, and nobody will hear of it."),
      label: gettext("Discard"),
      reason: "needed",
      danger: true,
    }),
  );

/** Ask, and do it to what the list shows: of one topic, where the address names one. */
function decide(/** @type {Which} */ which, /** @type {import("../parts/outboxdialog.js").About} */ about) {
  const asked = which.all_parked && param("topic") ? { ...which, topic: param("topic") } : which;
  outboxDialog(database, asked, about, () => list.restart());
}

function kindOf(/** @type {Api.OutboxMessageOut} */ { kind, value }) {
  const [word, text] = KINDS[kind] ?? [kind, String];
  return `${word} ${text(Number(value))}`.trim();
}

async function open(/** @type {number} */ number) {
  const drawer = new Drawer(`#${number}`);
  drawer.show(h("p", { class: "rc-muted" }, gettext("Loading…")));
  try {
    /** @type {Api.OutboxMessageOut} */
    const row = await get(`outbox/${encodeURIComponent(database)}/messages/${number}`);
    drawer.show(
      pairList([
        [gettext("Topic"), h("a", { class: "rc-link", href: topicAddress(row.topic) }, row.topic)],
        [gettext("State"), STATES[row.state]],
        [gettext("Message"), row.message ?? "–"],
        [gettext("Kind"), kindOf(row)],
        [gettext("Written"), dateTime(row.written_ms)],
        [gettext("Failed tries"), count(row.tries)],
        [gettext("Error"), row.error || "–"],
        [gettext("Size"), bytes(row.size)],
        [gettext("Headers"), row.headers ? JSON.stringify(row.headers) : "–"],
      ]),
      h("h3", {}, gettext("Content")),
      row.content === null && row.content_base64 === null
        ? h("p", { class: "rc-masked" }, gettext("Hidden: reading content needs the permission “read_payload”."))
        : h("pre", { class: "rc-pre" }, row.content ?? row.content_base64),
    );
  } catch (problem) {
    drawer.show(h("p", { class: "rc-error" }, messageOf(problem)));
  }
}

const state = new Choice(gettext("State"), "state", Object.entries(STATES), () => list.restart());
const table = new OutboxTable(
  () => database,
  (name) => {
    database = name;
    setParams({ database });
    list.restart();
  },
  page.lag_warning_ms,
);
const all = h(
  "div",
  { class: "rc-row-actions" },
  retryButton({ all_parked: true }, gettext("Retry all that are parked")),
  discardButton({ all_parked: true }, gettext("Discard all that are parked")),
);
const list = new LiveList({
  ask: async (query) => {
    /** @type {Api.OutboxRows} */
    const { messages, ...rest } = await get(`outbox/${encodeURIComponent(database)}/messages`, query);
    return { ...rest, rows: messages.map((row) => ({ ...row, created_ms: row.at_ms })) };
  },
  Row,
  isLive: (row) => row.sending,
  params: () => ({ state: state.value, topic: param("topic") }),
  label: gettext("Messages"),
  columns: [
    [gettext("Message")],
    [gettext("State")],
    [gettext("Failed tries"), "rc-num"],
    [gettext("Next try, or end")],
    [gettext("Written"), "rc-less"],
    [gettext("Actions")],
  ],
  empty: [
    "outbox",
    gettext("Nothing here"),
    gettext("What an application sends in a transaction of this database passes through here after its commit."),
  ],
  shown: () => below.wait(showFigures()),
});

async function showFigures() {
  all.hidden = state.value !== "parked";
  try {
    table.update((await get("outbox")).outboxes);
  } catch {
    // The list, which is asked for as often, says that the server is away.
  }
}

const head = h("div", { class: "rc-head" }, state.element, all, h("div", { class: "rc-status" }, list.asOf));
const below = new Together(list, [table.element, head, list.element]);
replace(byId("rc-page"), below.element);
