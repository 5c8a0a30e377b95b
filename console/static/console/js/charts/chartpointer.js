// A pointer on a chart: pressing looks at a moment, dragging zooms into a span; and what is drawn over the lines.
import { color } from "../core/theme.js";

const DRAG_PX = 8;

export class ChartPointer {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {() => any} chart the one that is drawn now, or null
   * @param {{ onZoom?: (from: number, to: number) => void, onMoment?: (at: number) => void }} acts
   */
  constructor(canvas, chart, { onZoom, onMoment }) {
    this.chart = chart;
    this.onZoom = onZoom;
    this.onMoment = onMoment;
    /** Where the button went down, and where the pointer is, in pixels. @type {[number, number] | null} */
    this.drag = null;
    /** The moment that is marked. @type {number | null} */
    this.at = null;
    if (!onZoom) return;
    canvas.classList.add("rc-chart-pressable");
    canvas.addEventListener("pointerdown", (event) => this.down(canvas, event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => this.end());
  }

  down(/** @type {HTMLCanvasElement} */ canvas, /** @type {PointerEvent} */ event) {
    if (event.button || !this.chart()) return;
    canvas.setPointerCapture(event.pointerId);
    this.drag = [event.offsetX, event.offsetX];
  }

  move(/** @type {PointerEvent} */ event) {
    if (!this.drag) return;
    this.drag[1] = event.offsetX;
    this.chart()?.draw();
  }

  up(/** @type {PointerEvent} */ event) {
    const chart = this.chart();
    if (!this.drag || !chart) return;
    const [first, last] = [this.drag[0], event.offsetX].sort((one, other) => one - other);
    this.end();
    const at = (/** @type {number} */ pixel) => {
      const { min, max } = chart.scales.x;
      return Math.min(max, Math.max(min, chart.scales.x.getValueForPixel(pixel)));
    };
    if (last - first >= DRAG_PX) this.onZoom?.(at(first), at(last));
    else this.onMoment?.(at(last));
  }

  end() {
    this.drag = null;
    this.chart()?.draw();
  }

  /** For the plugins of a chart. */
  get plugin() {
    return { id: "pointer", afterDatasetsDraw: (/** @type {any} */ chart) => this.paint(chart) };
  }

  paint(/** @type {any} */ chart) {
    const { ctx, chartArea, scales } = chart;
    const { left, right, top, bottom } = chartArea;
    ctx.save();
    if (this.drag && Math.abs(this.drag[1] - this.drag[0]) >= DRAG_PX) {
      const [first, last] = this.drag.map((pixel) => Math.min(right, Math.max(left, pixel)));
      ctx.globalAlpha = 0.18;
      ctx.fillStyle = color("--rc-line-1");
      ctx.fillRect(first, top, last - first, bottom - top);
      ctx.globalAlpha = 1;
    }
    if (this.at !== null && this.at >= scales.x.min && this.at <= scales.x.max) {
      const x = scales.x.getPixelForValue(this.at);
      ctx.strokeStyle = color("--rc-strong");
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, bottom);
      ctx.stroke();
    }
    ctx.restore();
  }
}
