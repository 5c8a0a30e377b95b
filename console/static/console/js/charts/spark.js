// A line without axes.
import { color, pixels } from "../core/theme.js";
import { prepare } from "./canvas.js";

export function drawSpark(/** @type {HTMLCanvasElement} */ canvas, /** @type {number[]} */ values) {
  const width = pixels("--rc-spark-width");
  const height = pixels("--rc-spark-height");
  if (!width || values.length < 2) return;
  const context = prepare(canvas, width, height);
  const top = values.reduce((most, value) => Math.max(most, value), 1);
  const x = (/** @type {number} */ index) => (index / (values.length - 1)) * (width - 2) + 1;
  const y = (/** @type {number} */ value) => height - 2 - (value / top) * (height - 4);
  context.beginPath();
  for (const [index, value] of values.entries()) context.lineTo(x(index), y(value));
  context.strokeStyle = color("--rc-line-1");
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.stroke();
  context.lineTo(x(values.length - 1), height);
  context.lineTo(x(0), height);
  context.globalAlpha = 0.12;
  context.fillStyle = color("--rc-line-1");
  context.fill();
  context.globalAlpha = 1;
}
