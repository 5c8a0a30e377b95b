// A logarithmic colour scale in steps. Its upper end is a round number, so that colours do not flicker.
import { color } from "../core/theme.js";

export const STEPS = 8;

/** The next of 1, 2, 5, 10, 20, 50 … */
export function roundUp(/** @type {number} */ value) {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

export class Scale {
  constructor(/** @type {number} */ largest) {
    this.top = roundUp(Math.max(largest, STEPS - 1));
    // Step 0 is "nothing"; step i holds values up to bounds[i].
    this.bounds = [0];
    let last = 0;
    // Each step has a bound of its own: rounded, low ones would be the same.
    for (let step = 1; step < STEPS; step += 1) {
      last = Math.max(last + 1, Math.round(this.top ** (step / (STEPS - 1))));
      this.bounds.push(last);
    }
  }

  step(/** @type {number | null} */ value) {
    if (value === null || !(value > 0)) return 0;
    const step = this.bounds.findIndex((bound) => value <= bound);
    return step < 0 ? STEPS - 1 : step;
  }

  colors() {
    return heatColors();
  }
}

export const heatColors = () => Array.from({ length: STEPS }, (_, step) => color(`--rc-heat-${step}`));
