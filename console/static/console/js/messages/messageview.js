// Everything about one message, for the panel and for its own page.
import { h } from "../core/dom.js";
import { bytes, count, dateTime, relative } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { correctButton } from "../operations/bulkedit.js";
import { actionButton } from "../parts/actions.js";
import { failureView, pairList } from "../parts/failure.js";
import { ACTIONS_OF, STATES, TIME_TITLES } from "../parts/states.js";
import { whyView } from "../parts/why.js";
import { activity } from "./activity.js";
import { contentView } from "./content.js";
import { canHold, holdButton, liftButton } from "./holds.js";
import { reportView } from "./messagereport.js";
import { redriveButton } from "./redrivedialog.js";
import { traceView } from "./trace.js";

const ENDED = ["dead", "trash"];

/** The address of a message's page. */
export function messageAddress(/** @type {{ id: string, slot: number }} */ message) {
  return `${topicAddress(page.topic.name, "message")}?${new URLSearchParams({ id: message.id, slot: String(message.slot) })}`;
}

/**
 * @param {Api.Message} message
 * @param {number} nowMs
 * @param {() => void} onDone
 */
export function messageView(message, nowMs, onDone) {
  const refs = () => [/** @type {Ref} */ ([message.slot, message.id])];
  const actions =
    message.id === null
      ? []
      : ACTIONS_OF[message.state].map((name) => actionButton(name, refs, onDone, () => [message]));
  return h(
    "div",
    { class: "rc-message" },
    h(
      "div",
      { class: "rc-actions" },
      actions,
      message.state === "dead" && message.id !== null ? redriveButton(() => [message], onDone) : null,
      message.state === "dead" && message.id !== null && page.topic.kind !== "group"
        ? correctButton(message, onDone)
        : null,
      holding(message, onDone),
    ),
    message.state === "in_flight" ? h("p", { class: "rc-muted" }, holder(message)) : null,
    message.id === null || ENDED.includes(message.state)
      ? null
      : [h("h3", {}, gettext("Why is it late?")), whyView(message).element],
    pairList(facts(message, nowMs)),
    h("h3", {}, gettext("Content")),
    contentView(message),
    h("h3", {}, fill(gettext("Headers (%(n)s)"), { n: message.header_count })),
    headers(message),
    h("h3", {}, gettext("Failures")),
    failureView(message.failure, nowMs),
    message.id === null ? null : [h("h3", {}, gettext("What its listener told")), reportView(message.id)],
    h("h3", {}, gettext("What happened")),
    message.id === null
      ? h("p", { class: "rc-masked" }, gettext("(hidden)"))
      : activity(message.id, message.slot, message),
  );
}

/** Which worker has it is known where slots are owned. */
function holder(/** @type {Api.Message} */ { worker }) {
  if (worker === null) return gettext("A worker has it now; it can be changed when it is settled or its time is over.");
  const words = gettext("The worker %(worker)s has it now; it can be changed when it is settled or its time is over.");
  return fill(words, { worker });
}

/** One more of the same key is held as well, so one in flight has the button, too. */
function holding(/** @type {Api.Message} */ message, /** @type {() => any} */ onDone) {
  if (!canHold() || message.id === null || ENDED.includes(message.state)) return null;
  return message.state === "held" ? liftButton(onDone, { message }) : holdButton(onDone, message);
}

function facts(/** @type {Api.Message} */ message, /** @type {number} */ nowMs) {
  const states = message.states.map((state) =>
    h("span", { class: `rc-tag rc-tag-${state === "dead" ? "dead" : "neutral"}` }, STATES[state]),
  );
  /** @type {import("../parts/failure.js").Pair[]} */
  const pairs = [
    [gettext("State"), h("span", { class: "rc-tags" }, states)],
    [
      gettext("Id"),
      message.id === null
        ? h("span", { class: "rc-masked" }, gettext("hidden: it is the content"))
        : h("span", { class: "rc-mono" }, message.id),
    ],
    [gettext("Slot"), count(message.slot)],
  ];
  if (message.slot_basis !== null)
    pairs.push([gettext("Slot basis"), h("span", { class: "rc-mono" }, message.slot_basis)]);
  if (message.at_ms !== null)
    pairs.push([TIME_TITLES[message.state], `${dateTime(message.at_ms)} (${relative(message.at_ms, nowMs)})`]);
  if (message.was) pairs.push([gettext("Restored to"), STATES[message.was]]);
  if (message.priority !== null) pairs.push([gettext("Priority"), count(message.priority)]);
  if (message.retries_left !== null) pairs.push([gettext("Retries left"), count(message.retries_left)]);
  if (message.expires_at_ms !== null)
    pairs.push([gettext("Expires"), `${dateTime(message.expires_at_ms)} (${relative(message.expires_at_ms, nowMs)})`]);
  if (message.tenant) pairs.push([gettext("Tenant"), message.tenant]);
  if (message.version) pairs.push([gettext("Version"), String(message.version)]);
  const trace = traceView(message.headers);
  if (trace) pairs.push([gettext("Trace"), trace]);
  pairs.push([gettext("Size"), bytes(message.size)]);
  return pairs;
}

function headers(/** @type {Api.Message} */ message) {
  if (message.headers === null)
    return h("p", { class: "rc-masked" }, gettext("Hidden: reading headers needs the permission “read_payload”."));
  const pairs = Object.entries(message.headers);
  return pairs.length ? pairList(pairs) : h("p", { class: "rc-muted" }, gettext("None."));
}
