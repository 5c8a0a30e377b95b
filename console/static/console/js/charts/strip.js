// A topic's slots in one line: the slot heat map, small.
import { pixels } from "../core/theme.js";
import { prepare } from "./canvas.js";
import { heatColors, Scale } from "./scale.js";

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number[]} values
 * @param {string[]} colors
 */
export function drawStrip(canvas, values, colors = heatColors()) {
  const width = pixels("--rc-strip-width");
  const height = pixels("--rc-strip-height");
  if (!width) return;
  const context = prepare(canvas, width, height);
  const scale = new Scale(Math.max(0, ...values));
  const cell = width / values.length;
  values.forEach((value, index) => {
    context.fillStyle = colors[scale.step(value)];
    const left = Math.floor(index * cell);
    context.fillRect(left, 0, Math.max(1, Math.floor((index + 1) * cell) - left - (cell > 3 ? 1 : 0)), height);
  });
}
