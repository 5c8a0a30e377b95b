// The dialog in which a route is made or changed.
import { getTagged, put } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { ask } from "./ask.js";
import { input, kindOf, TargetFields, topicSelect } from "./targetfields.js";

/** @typedef {Record<string, string[]>} When */
/** @typedef {import("./targetfields.js").Target & { when?: When | null }} Target */

/** `event=final|boarding, gate=A 12` as the API has it; nothing where the text is empty. */
export function readFilter(/** @type {string} */ text) {
  /** @type {When} */
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

export const writeFilter = (/** @type {When | null | undefined} */ when) =>
  Object.entries(when ?? {})
    .map(([name, values]) => `${name}=${[values].flat().join("|")}`)
    .join(", ");

class TargetRow {
  constructor(/** @type {Target} */ target, /** @type {() => void} */ remove) {
    this.fields = new TargetFields(page.topics, target);
    this.when = input("when", gettext("Only with headers"), writeFilter(target.when), {
      placeholder: "event=final|boarding",
    });
    const without = gettext("Remove this target");
    this.element = h(
      "div",
      { class: "rc-route-target" },
      this.fields.topicBox,
      this.fields.valueBox,
      this.fields.fromBox,
      h("label", { class: "rc-grow" }, gettext("Only with headers"), this.when),
      this.fields.keyBox,
      h(
        "button",
        { type: "button", class: "rc-button", title: without, "aria-label": without, onclick: remove },
        icon("close"),
      ),
    );
  }

  read() {
    const when = readFilter(this.when.value);
    return { ...this.fields.read(), ...(when ? { when } : {}) };
  }
}

/** Open it; `route`: the one to change, null for a new one. `done()` after it was saved. */
export async function editRoute(/** @type {Api.RouteOut | null} */ route, /** @type {() => void} */ done) {
  /** @type {[Api.RouteOut | null, string | null]} */
  const [known, etag] = route ? await getTagged(`routes/${route.name}`) : [null, null];
  const name = input("name", gettext("Name"), known?.name ?? "", {
    required: true,
    disabled: Boolean(known),
    maxlength: 60,
  });
  const sources = topicSelect(page.topics, "source", gettext("From"), known?.source, () => showStart());
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
  /** @type {TargetRow[]} */
  const rows = [];
  const list = h("div", { class: "rc-route-targets" });
  const add = (/** @type {Target} */ target) => {
    const row = new TargetRow(target, () => {
      rows.splice(rows.indexOf(row), 1);
      row.element.remove();
    });
    rows.push(row);
    list.append(row.element);
  };
  const showStart = () => {
    startBox.hidden = kindOf(page.topics, sources.value) !== "stream";
  };
  const other = () => page.topics.find((/** @type {{ name: string }} */ topic) => topic.name !== sources.value)?.name;
  /** @type {Target[]} */
  const targets = /** @type {any} */ (known?.targets) ?? [{ topic: other() }];
  for (const target of targets) add(target);
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
          "Headers: each has to be there with one of its values, such as event=final|boarding, gate=A 12. In a key, {id} stands for the id and {header.NAME} for a header. Where a message says its priority in a header, the other priority is for those without it.",
        ),
      ),
    ],
    label: known ? gettext("Save") : gettext("Create"),
    wide: true,
    reason: "optional",
    focus: known ? rows[0]?.fields.topic : name,
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
