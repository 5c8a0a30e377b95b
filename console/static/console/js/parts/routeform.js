// The dialog in which a route is made or changed.
import { getTagged, put } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { ask } from "./ask.js";

/** Kind → which field of a target says when it is delivered, its label, and what it begins with. */
const VALUES = {
  priority: ["priority", gettext("Priority"), "100"],
  "fixed-time": ["in_ms", gettext("Delay (ms)"), "0"],
  "range-merge": ["range_ms", gettext("Range (ms)"), "1000"],
};
const kindOf = (name) => page.topics.find((topic) => topic.name === name)?.kind ?? "";

function topicSelect(name, label, chosen, changed) {
  const names = page.topics.map((topic) => topic.name);
  if (chosen && !names.includes(chosen)) names.unshift(chosen);
  return h(
    "select",
    { class: "rc-select", name, "aria-label": label, onchange: changed },
    names.map((each) => h("option", { value: each, selected: each === chosen }, each)),
  );
}

const input = (name, label, value, more = {}) =>
  h("input", { class: "rc-input", name, "aria-label": label, value, autocomplete: "off", ...more });

/** `event=final|boarding, gate=A 12` as the API has it; nothing where the text is empty. */
export function readFilter(text) {
  const when = {};
  for (const part of text
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1) throw new Error(fill(gettext("“%(text)s” is no filter: write header=value"), { text: part }));
    when[part.slice(0, at).trim()] = part
      .slice(at + 1)
      .split("|")
      .map((each) => each.trim());
  }
  return Object.keys(when).length ? when : null;
}

export const writeFilter = (when) =>
  Object.entries(when ?? {})
    .map(([name, values]) => `${name}=${[values].flat().join("|")}`)
    .join(", ");

class TargetRow {
  constructor(target, remove) {
    this.topic = topicSelect("target", gettext("Target"), target.topic, () => this.show());
    this.value = input("value", "", "", { inputmode: "numeric" });
    this.valueLabel = h("span");
    this.valueBox = h("label", {}, this.valueLabel, this.value);
    this.when = input("when", gettext("Only with headers"), writeFilter(target.when), {
      placeholder: "event=final|boarding",
    });
    this.key = input("key", gettext("Key"), target.key ?? "", { placeholder: gettext("as it is") });
    this.keyBox = h("label", {}, gettext("Key"), this.key);
    const kind = VALUES[kindOf(target.topic)];
    this.given = kind ? (target[kind[0]] ?? (kind[0] === "in_ms" ? 0 : null)) : null;
    const without = gettext("Remove this target");
    this.element = h(
      "div",
      { class: "rc-route-target" },
      h("label", {}, gettext("To"), this.topic),
      this.valueBox,
      h("label", { class: "rc-grow" }, gettext("Only with headers"), this.when),
      this.keyBox,
      h(
        "button",
        { type: "button", class: "rc-button", title: without, "aria-label": without, onclick: remove },
        icon("close"),
      ),
    );
    this.show();
  }

  show() {
    const kind = VALUES[kindOf(this.topic.value)];
    this.valueBox.hidden = !kind;
    this.keyBox.hidden = kindOf(this.topic.value) === "stream";
    if (!kind) return;
    this.valueLabel.textContent = kind[1];
    this.value.setAttribute("aria-label", kind[1]);
    this.value.value = this.given ?? kind[2];
    this.given = null;
  }

  read() {
    const kind = VALUES[kindOf(this.topic.value)];
    const target = { topic: this.topic.value };
    if (kind) {
      if (!/^\d+$/.test(this.value.value.trim()))
        throw new Error(fill(gettext("%(field)s must be a whole number."), { field: kind[1] }));
      target[kind[0]] = Number(this.value.value);
    }
    const when = readFilter(this.when.value);
    if (when) target.when = when;
    if (!this.keyBox.hidden && this.key.value) target.key = this.key.value;
    return target;
  }
}

/** Open it; `route`: the one to change, null for a new one. `done()` after it was saved. */
export async function editRoute(route, done) {
  const [known, etag] = route ? await getTagged(`routes/${route.name}`) : [null, null];
  const name = input("name", gettext("Name"), known?.name ?? "", {
    required: true,
    disabled: Boolean(known),
    maxlength: 60,
  });
  const sources = topicSelect("source", gettext("From"), known?.source, () => showStart());
  sources.disabled = Boolean(known);
  const start = h(
    "select",
    { class: "rc-select", name: "start", disabled: Boolean(known) },
    [
      ["end", gettext("with what comes from now on")],
      ["start", gettext("with all that it holds")],
    ].map(([value, label]) => h("option", { value, selected: known?.start === value }, label)),
  );
  const startBox = h("label", {}, gettext("Begins"), start);
  const description = input("description", gettext("Description"), known?.description ?? "", { maxlength: 2000 });
  const rows = [];
  const list = h("div", { class: "rc-route-targets" });
  const add = (target) => {
    const row = new TargetRow(target, () => {
      rows.splice(rows.indexOf(row), 1);
      row.element.remove();
    });
    rows.push(row);
    list.append(row.element);
  };
  const showStart = () => {
    startBox.hidden = kindOf(sources.value) !== "stream";
  };
  const other = () => page.topics.find((topic) => topic.name !== sources.value)?.name;
  for (const target of known?.targets ?? [{ topic: other() }]) add(target);
  showStart();
  ask({
    title: known ? fill(gettext("Change the route %(name)s"), { name: known.name }) : gettext("New route"),
    body: [
      h(
        "div",
        { class: "rc-fields" },
        h("label", {}, gettext("Name"), name),
        h("label", {}, gettext("From"), sources),
        startBox,
        h("label", {}, gettext("Description"), description),
      ),
      list,
      h(
        "button",
        { type: "button", class: "rc-button", onclick: () => add({ topic: other() }) },
        icon("add"),
        gettext("Another target"),
      ),
      h(
        "p",
        { class: "rc-muted" },
        gettext(
          "Headers: each has to be there with one of its values, such as event=final|boarding, gate=A 12. In a key, {id} stands for the id and {header.NAME} for a header.",
        ),
      ),
    ],
    label: known ? gettext("Save") : gettext("Create"),
    wide: true,
    reason: "optional",
    focus: known ? rows[0]?.topic : name,
    submit: async ({ reason }) => {
      const body = {
        source: sources.value,
        targets: rows.map((row) => row.read()),
        start: startBox.hidden ? "end" : start.value,
        paused: known?.paused ?? false,
        description: description.value,
      };
      if (body.targets.length === 0) throw new Error(gettext("A route needs a target."));
      await put(`routes/${encodeURIComponent(name.value.trim())}`, { reason }, body, etag);
      done();
    },
  });
}
