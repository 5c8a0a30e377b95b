// What happened to one message: every step the record has of it, and what people did to it.

import { get, ofId, ofTopic } from "../core/api.js";
import { serverNow } from "../core/clock.js";
import { h, replace } from "../core/dom.js";
import { dateTime } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { TIME_TITLES } from "../parts/states.js";
import { stepWords } from "../parts/steps.js";
import { mergeLines } from "./merges.js";

/** @typedef {[number, HTMLElement]} Line */

/** @type {Record<string, string>} */
const WORDS = {
  cancel: gettext("cancelled it"),
  run_now: gettext("made it ready"),
  reschedule: gettext("rescheduled it"),
  requeue: gettext("requeued it"),
  drop: gettext("dropped it"),
  restore: gettext("restored it"),
  send: gettext("sent it by hand"),
  hold: gettext("held it"),
  lift: gettext("lifted its hold"),
};
/** @type {Record<string, string>} */
const STATUS = {
  in_flight: gettext("it was in flight"),
  not_found: gettext("it was no longer there"),
  expires_first: gettext("left as before, expiring before delivery"),
  gone: gettext("left as before, its entry was deleted"),
  failed: gettext("failed"),
  refused: gettext("refused"),
  started: gettext("never finished"),
  nothing: gettext("nothing was done"),
};

/**
 * `message` may be null, where it is gone.
 * @param {string} ident
 * @param {number | null} slot
 * @param {Api.Message | null} [message]
 */
export function activity(ident, slot, message = null) {
  const list = h("ol", { class: "rc-timeline" }, h("li", { class: "rc-muted" }, gettext("Loading…")));
  load(list, ident, slot, message);
  return list;
}

/**
 * @param {HTMLElement} list
 * @param {string} ident
 * @param {number | null} slot
 * @param {Api.Message | null} message
 */
async function load(list, ident, slot, message) {
  try {
    const path = ofTopic(page.topic.name, `/biography/${ofId(ident)}`);
    /** @type {Api.Biography} */
    const { lives, actions, complete } = await get(path, { slot });
    /** @type {Line[]} */
    const steps = lives.flatMap((life) =>
      life.steps.map((step) => /** @type {Line} */ ([step.at_ms, stepWords(step)])),
    );
    // The record tells more than the message itself; where there is none, that is all there is.
    const known = steps.length ? [] : facts(message);
    // Newest first; steps of the same millisecond stay in the order they happened.
    const events = [...known, ...steps, ...actions.map(personal)].reverse().sort((one, other) => other[0] - one[0]);
    replace(
      list,
      lives.flatMap(mergeLines),
      events.length ? events.map(line) : h("li", { class: "rc-muted" }, gettext("Nobody has acted on it.")),
      lives.flatMap(notes),
      steps.length || !message
        ? null
        : h(
            "li",
            { class: "rc-muted" },
            gettext("Its steps, and which sends merged into it, are recorded where the topic's journal is on."),
          ),
      complete
        ? null
        : h("li", { class: "rc-muted" }, gettext("Only the newest of this topic's actions were looked through.")),
    );
  } catch (problem) {
    replace(list, h("li", { class: "rc-error" }, messageOf(problem)));
  }
}

function notes(/** @type {Api.Life} */ life) {
  const found = [];
  if (life.more) found.push(h("li", { class: "rc-muted" }, gettext("Earlier steps are not shown.")));
  if (life.gap_ms)
    found.push(
      h(
        "li",
        { class: "rc-bad" },
        fill(gettext("The journal had a gap about %(time)s; steps of before may be missing."), {
          time: dateTime(life.gap_ms),
        }),
      ),
    );
  return found;
}

/** @returns {Line[]} */
function facts(/** @type {Api.Message | null} */ message) {
  if (!message) return [];
  /** @type {Line[]} */
  const found = [];
  if (message.at_ms !== null && message.at_ms <= serverNow())
    found.push([message.at_ms, h("span", {}, TIME_TITLES[message.state])]);
  const failure = message.failure;
  if (failure) {
    found.push([failure.last_ms, h("span", {}, fill(gettext("failed: %(error)s"), { error: failure.error }))]);
    if (failure.failures > 1) found.push([failure.first_ms, h("span", {}, gettext("failed for the first time"))]);
  }
  return found;
}

/** @returns {Line} */
function personal(/** @type {Api.Action} */ action) {
  const status = STATUS[action.status];
  return [
    action.at_ms,
    h(
      "span",
      {},
      h("strong", {}, action.who),
      ` ${WORDS[action.action] ?? action.action}`,
      status ? h("span", { class: "rc-bad" }, ` (${status})`) : null,
      action.reason ? h("span", { class: "rc-muted" }, ` · ${action.reason}`) : null,
    ),
  ];
}

function line(/** @type {Line} */ [ms, words]) {
  return h("li", { class: "rc-wide-time" }, h("time", {}, dateTime(ms)), words);
}
