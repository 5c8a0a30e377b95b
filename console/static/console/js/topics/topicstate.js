// What a topic does, in a word: what is true now, not what is configured.
import { h } from "../core/dom.js";
import { gettext } from "../core/text.js";
import { CHIPS } from "../parts/problems.js";

/** @typedef {Live.TopicFrame | Live.PastFrame} Frame */

/** A stream that got something so lately is receiving: entries come in bursts. */
const LATELY_MS = 15_000;
let heardMs = 0;
const STOPPED = ["no_workers", "unowned", "group_stuck"];

/** `frame`: the newest of the topic, null before there is one. */
export function topicState(/** @type {Live.Topic} */ topic, /** @type {Frame | null} */ frame) {
  const [word, kind] = stateOf(topic, frame);
  return h("span", { class: `rc-tag rc-tag-${kind}` }, word);
}

function stateOf(/** @type {Live.Topic} */ topic, /** @type {Frame | null} */ frame) {
  if (topic.paused || (frame && frame.at_ms < topic.paused_until_ms)) return [gettext("Paused"), "paused"];
  if (!frame) return [gettext("Loading…"), "neutral"];
  if (frame.workers === null && !frame.problems.some(stops)) return [gettext("Replay"), "neutral"];
  if (topic.kind === "stream") {
    if (frame.now?.in_s) heardMs = frame.at_ms;
    return frame.at_ms - heardMs < LATELY_MS ? [gettext("Receiving"), "good"] : [gettext("Quiet"), "neutral"];
  }
  const stopped = frame.problems.find(stops);
  if (stopped) return [CHIPS[stopped.code], "dead"];
  if (frame.routed) return [gettext("Forwarding"), "good"];
  // Whoever takes through the API is no worker, but takes.
  if (!frame.workers && !frame.now?.out_s) return [CHIPS.no_workers, "neutral"];
  return [gettext("Running"), "good"];
}

const stops = (/** @type {Live.Problem} */ problem) => STOPPED.includes(problem.code);
