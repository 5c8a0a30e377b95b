// The last minutes of a topic, point by point.
import { AT } from "../core/point.js";

const KEPT_MS = 15 * 60 * 1000;

export class Series {
  constructor() {
    /** Each in the order of `AT`. @type {number[][]} */
    this.points = [];
  }

  /** History may arrive again after a reconnect: it replaces what is here up to its end. */
  load(/** @type {number[][]} */ points) {
    if (!points.length) return;
    const end = points[points.length - 1][AT.at_ms];
    this.points = [...points, ...this.points.filter((point) => point[AT.at_ms] > end)];
    this.trim();
  }

  add(/** @type {number[]} */ point) {
    const last = this.points.at(-1);
    if (last && point[AT.at_ms] <= last[AT.at_ms]) return;
    this.points.push(point);
    this.trim();
  }

  trim() {
    const oldest = (this.points.at(-1)?.[AT.at_ms] ?? 0) - KEPT_MS;
    let drop = 0;
    while (drop < this.points.length && this.points[drop][AT.at_ms] < oldest) drop += 1;
    if (drop) this.points.splice(0, drop);
  }

  since(/** @type {number} */ ms) {
    const oldest = (this.points.at(-1)?.[AT.at_ms] ?? 0) - ms;
    return this.points.filter((point) => point[AT.at_ms] >= oldest);
  }

  get last() {
    return this.points.at(-1);
  }
}
