// A topic as it was: what the history tells of a moment, in the shape of the frames that are pushed.

import { get, isStopped, ofTopic } from "../core/api.js";
import { page } from "../core/page.js";
import { messageOf } from "../core/text.js";

const KEPT = 400;
const STEP_MS = 10_000; // nothing is kept more finely

export class Past {
  /**
   * @param {string} topic
   * @param {() => void} onChange when a moment has come, or could not
   */
  constructor(topic, onChange) {
    this.topic = topic;
    this.onChange = onChange;
    /** Moments that were looked at, by their step. @type {Map<number, any>} */
    this.known = new Map();
    /** What is on its way. @type {AbortController | null} */
    this.asking = null;
    this.wanted = -1;
    this.problem = "";
  }

  /** What is known of a moment; null while it is on its way. What was shown last stays meanwhile. */
  at(/** @type {number} */ at) {
    const step = at - (at % STEP_MS);
    const found = this.known.get(step);
    if (found) this.shown = found;
    else if (this.wanted !== step) this.ask(step);
    return found ?? this.shown ?? null;
  }

  async ask(/** @type {number} */ step) {
    this.wanted = step;
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    try {
      /** @type {Api.Past} */
      const found = await get(ofTopic(this.topic, "/history/moment"), { at: step + STEP_MS - 1 }, asking.signal);
      this.known.set(step, frame(found));
      if (this.known.size > KEPT) this.known.delete(/** @type {number} */ (this.known.keys().next().value));
      this.problem = "";
    } catch (error) {
      if (isStopped(error)) return;
      this.problem = messageOf(error);
      this.known.set(step, frame({ numbers: null, slots: null, problems: [], definition: null }));
    }
    this.onChange();
  }
}

function frame(/** @type {any} */ found) {
  const slots = found.slots;
  return {
    at_ms: found.at_ms ?? 0,
    topic: { ...page.topic, ...found.definition },
    now: found.numbers,
    problems: found.problems,
    slots: slots?.values ?? null,
    owners: slots?.owners ?? null,
    slots_ms: slots?.at_ms ?? null,
    step_ms: slots?.step_ms ?? null,
    workers: null,
  };
}
