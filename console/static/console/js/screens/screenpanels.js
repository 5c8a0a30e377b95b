// What a wall display draws: large figures, charts, heat maps, lists. Each is made anew of what it is sent.

import { Scale } from "../charts/scale.js";
import { h } from "../core/dom.js";
import { count, duration, rate, relative, time } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { sentence } from "../parts/problems.js";

/** @typedef {Record<string, any>} Values */

/** @type {Record<string, [string, (value: any) => string]>} */
export const METRICS = {
  backlog: [gettext("Backlog"), count],
  ready: [gettext("Ready"), count],
  retrying: [gettext("Retrying"), count],
  in_flight: [gettext("In flight"), count],
  dead: [gettext("Dead letters"), count],
  lag_ms: [gettext("Lag"), duration],
  oldest_ms: [gettext("Oldest in flight"), duration],
  in_s: [gettext("In/s"), rate],
  out_s: [gettext("Out/s"), rate],
  failed_s: [gettext("Failed/s"), rate],
  p99: [gettext("Lateness p99"), duration],
  workers: [gettext("Workers"), count],
};
const SVG = "http://www.w3.org/2000/svg";
const WIDE = 1000;
const HIGH = 300;

/** An element for what the server says of a panel. */
export function drawn(/** @type {Live.Panel} */ panel, /** @type {number} */ now) {
  const { kind, topic } = panel;
  if (kind === "figures") return section(topic || gettext("All topics"), "", figures(panel.values));
  if (kind === "chart") return chart(panel);
  if (kind === "heatmap") return heatmap(panel);
  if (kind === "topics") return section(topic || gettext("Topics"), "", topics(panel.lines), more(panel.more));
  if (kind === "alerts")
    return section(
      gettext("Alerts"),
      count(panel.lines.length + panel.more),
      list(panel.lines, gettext("No alerts"), (each) => alert(each, now)),
      more(panel.more),
    );
  const title = topic ? `${gettext("Problems")} · ${topic}` : gettext("Problems");
  const total = count(panel.lines.length + panel.more);
  return section(title, total, list(panel.lines, gettext("No problems"), problem), more(panel.more));
}

/**
 * @param {string} title
 * @param {string} value
 * @param {...any} parts
 */
const section = (title, value, ...parts) =>
  h("section", { class: "sc-panel", "aria-label": title }, h("h2", {}, title, value ? h("b", {}, value) : null), parts);

const calm = (/** @type {string} */ words) => h("p", { class: "sc-calm" }, words);
const more = (/** @type {number} */ left) => h("p", { class: "sc-more", dataset: { left } }, moreWords(left));
const moreWords = (/** @type {number} */ left) =>
  left > 0 ? fill(ngettext("%(n)s more", "%(n)s more", left), { n: count(left) }) : "";

/** Lines that there is no room for are counted, not cut. */
export function fit(/** @type {HTMLElement} */ panel) {
  const rows = panel.querySelector(".sc-list, tbody");
  const box = rows?.closest(".sc-list, .sc-rows");
  const rest = /** @type {HTMLElement | null} */ (panel.querySelector(".sc-more"));
  if (!rows || !box || !rest) return;
  let left = Number(rest.dataset.left);
  while (rows.children.length > 1 && box.scrollHeight > box.clientHeight + 1) {
    rows.lastElementChild?.remove();
    left += 1;
    rest.textContent = moreWords(left);
  }
}

const FIGURE_MOST = 7;

function figures(/** @type {Values | null} */ values) {
  if (!values) return calm(gettext("Not known"));
  const names = ["backlog", "in_s", "out_s", "lag_ms", "dead", "workers"];
  /** @type {Record<string, boolean>} */
  const wrong = { dead: values.dead > 0, workers: values.workers === 0 && values.backlog > 0 };
  return h(
    "dl",
    { class: "sc-figures" },
    names.map((name) => {
      const words = METRICS[name][1](values[name]);
      // Long ones (11 m 48 s) would run into the next figure.
      const look = [wrong[name] ? "sc-bad" : "", String(words).length > FIGURE_MOST ? "sc-long" : ""];
      return h("div", {}, h("dt", {}, METRICS[name][0]), h("dd", { class: look.join(" ").trim() }, words));
    }),
  );
}

/**
 * @param {any[]} lines
 * @param {string} none
 * @param {(each: any) => Element} line
 */
const list = (lines, none, line) => (lines.length ? h("ul", { class: "sc-list" }, lines.map(line)) : calm(none));

const problem = (/** @type {Live.Problem} */ each) =>
  h(
    "li",
    { class: `sc-${each.severity}` },
    h("span", {}, each.topic ? h("strong", {}, `${each.topic} `) : null, sentence(each)),
  );

function alert(
  /** @type {Live.Alert} */ { name, topic, topics: many, severity, fired_ms: fired },
  /** @type {number} */ now,
) {
  const place = topic || (many ? fill(ngettext("%(n)s topic", "%(n)s topics", many), { n: count(many) }) : "");
  return h(
    "li",
    { class: `sc-${severity}` },
    h("span", {}, h("strong", {}, `${name} `), place),
    h("time", {}, relative(fired, now)),
  );
}

function topics(/** @type {Live.TopicLine[]} */ lines) {
  const names = ["backlog", "in_s", "out_s", "lag_ms", "dead", "workers"];
  if (!lines.length) return calm(gettext("No topics"));
  const table = h(
    "table",
    { class: "sc-table" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", {}, gettext("Topic")),
        names.map((name) => h("th", {}, METRICS[name][0])),
      ),
    ),
    h(
      "tbody",
      {},
      lines.map((each) =>
        h(
          "tr",
          { class: each.problems.some((code) => code !== "paused") ? "sc-wrong" : "" },
          h("th", { scope: "row" }, each.name),
          names.map((name) => h("td", {}, METRICS[name][1](each[/** @type {keyof Live.Numbers} */ (name)]))),
        ),
      ),
    ),
  );
  return h("div", { class: "sc-rows" }, table);
}

/**
 * @param {{ topic: string, metric: string, points: [number, number | null][] }} given
 */
function chart({ topic, metric, points }) {
  const [label, show] = METRICS[metric];
  const known = points.flatMap(([ms, value]) =>
    value === null ? [] : [/** @type {[number, number]} */ ([ms, value])],
  );
  const title = `${topic} · ${label}`;
  if (known.length < 2) return section(title, "", calm(gettext("Not known")));
  const [from] = known[0];
  const [to, newest] = known[known.length - 1];
  const span = Math.max(1, to - from);
  const top = Math.max(1, ...known.map(([, value]) => value));
  const at = (/** @type {[number, number]} */ [ms, value]) =>
    `${((ms - from) / span) * WIDE} ${HIGH - (value / top) * HIGH}`;
  const line = `M${known.map(at).join("L")}`;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "sc-draw");
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: ${show(newest)}`);
  for (const [look, path] of [
    ["sc-area", `${line}L${WIDE} ${HIGH}L0 ${HIGH}Z`],
    ["", line],
  ]) {
    const drawing = document.createElementNS(SVG, "path");
    drawing.setAttribute("class", look);
    drawing.setAttribute("d", path);
    svg.append(drawing);
  }
  const highest = fill(gettext("highest %(value)s"), { value: show(top) });
  const foot = h(
    "p",
    { class: "sc-foot" },
    h("span", {}, time(from)),
    h("span", {}, highest),
    h("span", {}, time(from + span)),
  );
  return section(title, show(newest), svg, foot);
}

function heatmap(/** @type {{ topic: string, metric: string, slots: number[] | null }} */ { topic, metric, slots }) {
  const [label, show] = METRICS[metric];
  const title = `${topic} · ${label}`;
  if (!slots?.length) return section(title, "", calm(gettext("Not known")));
  const top = Math.max(0, ...slots);
  const scale = new Scale(top);
  const columns = Math.ceil(Math.sqrt(slots.length * 2.4));
  const rows = Math.ceil(slots.length / columns);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "sc-draw");
  svg.setAttribute("viewBox", `0 0 ${columns} ${rows}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: ${show(top)}`);
  slots.forEach((value, slot) => {
    const cell = document.createElementNS(SVG, "rect");
    cell.setAttribute("x", String((slot % columns) + 0.04));
    cell.setAttribute("y", String(Math.floor(slot / columns) + 0.04));
    cell.setAttribute("width", "0.92");
    cell.setAttribute("height", "0.92");
    cell.style.fill = `var(--rc-heat-${scale.step(value)})`;
    svg.append(cell);
  });
  const slotsWord = fill(ngettext("%(n)s slot", "%(n)s slots", slots.length), { n: count(slots.length) });
  const highest = fill(gettext("highest %(value)s"), { value: show(top) });
  return section(title, show(top), svg, h("p", { class: "sc-foot" }, h("span", {}, slotsWord), h("span", {}, highest)));
}
