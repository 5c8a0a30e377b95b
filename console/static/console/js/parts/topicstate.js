// What a topic does, in a word: what is true now, not what is configured.
import { h } from "../core/dom.js";
import { gettext } from "../core/text.js";
import { CHIPS } from "./problems.js";

const STOPPED = ["no_workers", "unowned"];

/** `frame`: the newest of the topic, null before there is one. */
export function topicState(topic, frame) {
  const [word, kind] = stateOf(topic, frame);
  return h("span", { class: `rc-tag rc-tag-${kind}` }, word);
}

function stateOf(topic, frame) {
  if (topic.paused) return [gettext("Paused"), "paused"];
  if (!frame) return [gettext("Loading…"), "neutral"];
  const stopped = frame.problems.find((problem) => STOPPED.includes(problem.code));
  if (stopped) return [CHIPS[stopped.code], "dead"];
  if (frame.workers === null) return [gettext("Replay"), "neutral"];
  // Whoever takes through the API is no worker, but takes.
  if (!frame.workers && !frame.now.out_s) return [CHIPS.no_workers, "neutral"];
  return [gettext("Running"), "good"];
}
