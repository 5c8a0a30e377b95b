// When, or how urgently: the one field of a message that depends on the topic's kind.
import { serverNow } from "../core/clock.js";
import { h, replace } from "../core/dom.js";
import { dateTime, duration, relative } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { momentIn, zone as own, putMoment } from "../core/zone.js";

/** @type {[string, number][]} */
const UNITS = [
  ["ms", 1],
  ["s", 1000],
  ["min", 60_000],
  ["h", 3_600_000],
];

/** {element, read()}: `read()` gives {due_ms}, {priority}, {range_ms} or {id}, as typed where it is no number. */
export function whenField(/** @type {string} */ kind) {
  if (kind === "stream") return idField();
  if (kind === "priority") return priorityField();
  return kind === "fixed-time" ? dueField() : rangeField();
}

function idField() {
  const input = h("input", {
    class: "rc-input rc-mono",
    name: "id",
    autocomplete: "off",
    placeholder: "1764000000000-0",
  });
  return {
    element: h(
      "label",
      {},
      gettext("Id (empty: the server gives the next; else larger than every one of its slot)"),
      input,
    ),
    read: () => ({ id: input.value.trim() }),
  };
}

function priorityField() {
  const input = h("input", {
    class: "rc-input rc-short",
    type: "number",
    min: 17,
    step: 1,
    value: 100,
    name: "priority",
  });
  return {
    element: h("label", {}, gettext("Priority (17 or more, higher is sooner)"), input),
    read: () => ({ priority: input.value }),
  };
}

function rangeField() {
  const input = h("input", { class: "rc-input", type: "number", min: 1, step: "any", value: 10, name: "range" });
  const unit = h(
    "select",
    { class: "rc-select", "aria-label": gettext("Unit"), name: "unit" },
    UNITS.map(([name, size]) => h("option", { value: size }, name)),
  );
  unit.value = "1000";
  return {
    element: h(
      "div",
      { class: "rc-send-field" },
      h("label", {}, gettext("Delivered so long after the first send"), input),
      unit,
    ),
    read: () => ({ range_ms: input.value === "" ? "" : Math.round(Number(input.value) * Number(unit.value)) }),
  };
}

function dueField() {
  const input = h("input", { class: "rc-input", type: "datetime-local", step: 1, name: "due" });
  const zone = h(
    "select",
    { class: "rc-select", "aria-label": gettext("Time zone"), name: "zone" },
    h("option", { value: "" }, own),
    own === "UTC" ? null : h("option", { value: "Z" }, "UTC"),
  );
  const shown = h("span", { class: "rc-muted" });
  const read = (/** @type {string} */ of) => (of ? Date.parse(input.value + of) : momentIn(input));
  const ms = () => read(zone.value);
  const show = () =>
    replace(
      shown,
      Number.isNaN(ms())
        ? gettext("Give a time.")
        : `${dateTime(ms())} · ${relative(ms(), serverNow())} · ${fill(gettext("%(ms)s ms"), { ms: ms() })}`,
    );
  const put = (/** @type {number} */ at) => {
    if (zone.value) input.value = new Date(at).toISOString().slice(0, 19);
    else putMoment(input, at);
    show();
  };
  const later = (/** @type {number} */ away) =>
    h(
      "button",
      { type: "button", class: "rc-chip", onclick: () => put(serverNow() + away) },
      fill(gettext("in %(time)s"), { time: duration(away) }),
    );
  let before = zone.value;
  zone.addEventListener("change", () => {
    const at = read(before);
    before = zone.value;
    if (!Number.isNaN(at)) put(at);
  });
  input.addEventListener("input", show);
  put(serverNow() + 600_000);
  return {
    element: h(
      "div",
      { class: "rc-send-field" },
      h("label", {}, gettext("Due"), input),
      zone,
      h(
        "span",
        { class: "rc-chips" },
        later(10_000),
        later(60_000),
        later(600_000),
        later(3_600_000),
        later(86_400_000),
      ),
      shown,
    ),
    read: () => ({ due_ms: Number.isNaN(ms()) ? "" : ms() }),
  };
}
