// The points of a span of time, asked of the history; asked again as long as the span is not over.

import { get, isStopped, ofTopic } from "../core/api.js";
import { messageOf } from "../core/text.js";

const OFTEN_MS = 5_000;
const SELDOM_MS = 60_000;

export class History {
  /**
   * @param {string} topic
   * @param {() => void} onChange when points have come, or could not
   * @param {{ path?: string, often?: number }} [options] of what; how often it is asked for again at most
   */
  constructor(topic, onChange, { path = "/history", often = OFTEN_MS } = {}) {
    this.topic = topic;
    this.path = path;
    this.often = often;
    this.onChange = onChange;
    this.key = "";
    this.askedAt = 0;
    /** What was asked for last: {from_ms, to_ms, step_ms, points}. @type {any} */
    this.found = null;
    /** Why there is nothing. @type {string} */
    this.problem = "";
    /** @type {AbortController | null} */
    this.asking = null;
  }

  /**
   * Ask for a span, unless it is here or on its way.
   * @param {string} key what is looked at, whatever the clock says
   * @param {import("./timespan.js").Span} span
   * @param {boolean} over whether nothing more will come
   */
  want(key, { from, to }, over) {
    if (key === this.key) {
      const pause = Math.min(SELDOM_MS, Math.max(this.often, (this.found?.step_ms ?? 0) / 4));
      if (this.asking || (this.found && over) || Date.now() - this.askedAt < pause) return;
    } else {
      this.found = null;
      this.problem = "";
    }
    this.key = key;
    this.ask(Math.floor(from), Math.ceil(to));
  }

  async ask(/** @type {number} */ from, /** @type {number} */ to) {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    this.askedAt = Date.now();
    try {
      this.found = await get(ofTopic(this.topic, this.path), { from, to }, asking.signal);
      this.problem = "";
    } catch (error) {
      if (isStopped(error)) return;
      this.problem = messageOf(error);
    }
    if (this.asking === asking) this.asking = null;
    this.onChange();
  }
}
