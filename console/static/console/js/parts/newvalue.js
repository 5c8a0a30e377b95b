// The field for a new due time, or a new priority. It begins with what the message has now.
import { h, setText } from "../core/dom.js";
import { count, dateTime } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { inZone, momentIn, putMoment } from "../core/zone.js";

/** @typedef {{ low: number, high: number }} Range */

/**
 * `messages`: those to be changed, where they are known. `element` to show, `input` to focus, `read()` for the server.
 * @param {{ timed?: boolean }} topic
 * @param {{ at_ms: number | null, priority: number | string | null }[]} [messages]
 */
export function newValue(topic, messages = []) {
  return topic.timed
    ? newTime(spanOf(messages.map((each) => each.at_ms)))
    : newPriority(spanOf(messages.map((each) => each.priority)));
}

function newPriority(/** @type {Range | null} */ span) {
  const input = h("input", {
    class: "rc-input",
    type: "number",
    min: 17,
    step: 1,
    required: true,
    name: "priority",
    value: span && span.low === span.high ? span.low : null,
  });
  return {
    input,
    element: h("label", {}, gettext("New priority (17 or more, higher is sooner)"), input, present(span, count)),
    read: () => ({ priority: input.value }),
  };
}

function newTime(/** @type {Range | null} */ span) {
  const input = h("input", {
    class: "rc-input",
    type: "datetime-local",
    step: "any",
    required: true,
    name: "due",
  });
  if (span && span.low === span.high) putMoment(input, span.low, span.low % 1000 ? 23 : 19);
  const chosen = () => momentIn(input);
  const shown = h("span", { class: "rc-muted" });
  const show = () => setText(shown, dateTime(chosen()));
  input.addEventListener("input", show);
  show();
  return {
    input,
    element: h("label", {}, inZone(gettext("New due time")), input, shown, present(span, dateTime)),
    read: () => ({ due_ms: chosen() }),
  };
}

/** The lowest and the highest of the values there are; null without any. */
function spanOf(/** @type {(number | string | null | undefined)[]} */ values) {
  const known = values.filter((value) => value !== null && value !== undefined).map(Number);
  return known.length ? { low: Math.min(...known), high: Math.max(...known) } : null;
}

/**
 * @param {Range | null} span
 * @param {(value: number) => string} words
 */
function present(span, words) {
  if (!span || span.low === span.high) return null;
  const sentence = fill(gettext("Now from %(low)s to %(high)s."), { low: words(span.low), high: words(span.high) });
  return h("span", { class: "rc-muted" }, sentence);
}
