// The coarse history of every topic's backlog, and of how many entries a stream keeps: what the keeper has kept, and what was seen since.
const STEP_MS = 15_000;
const SPAN_MS = 15 * 60_000;

export class Sparks {
  constructor() {
    /** @type {Record<string, number[]>} */
    this.values = {};
    this.stepMs = STEP_MS;
    /** @type {number | null} */
    this.step = null;
  }

  /** What the keeper has kept: the last value of each is that of the step of `at_ms`. */
  load(/** @type {{ at_ms: number, step_ms: number, sparks: Record<string, number[]> }} */ { at_ms, step_ms, sparks }) {
    this.values = sparks;
    this.stepMs = step_ms;
    this.step = Math.floor(at_ms / step_ms);
  }

  /** A frame of the overview; of one step the largest value counts, as for the keeper. */
  follow(
    /** @type {{ at_ms: number, topics: { name: string, backlog: number, length?: number }[] }} */ { at_ms, topics },
  ) {
    const step = Math.floor(at_ms / this.stepMs);
    const most = Math.round(SPAN_MS / this.stepMs);
    const isNew = this.step === null || step > this.step;
    for (const { name, backlog, length } of topics) {
      const waiting = backlog + (length ?? 0); // only one of them is not 0, as where the keeper counts
      this.values[name] ??= [];
      const values = this.values[name];
      if (isNew || !values.length) values.push(waiting);
      else values[values.length - 1] = Math.max(values[values.length - 1], waiting);
      if (values.length > most) values.splice(0, values.length - most);
    }
    this.step = step;
  }

  of(/** @type {string} */ name) {
    return this.values[name] ?? [];
  }
}
