// Where messages go, and as what: a topic, what that kind needs, a key.
import { h } from "../core/dom.js";
import { fill, gettext } from "../core/text.js";

/** @typedef {{ name: string, kind: string }} Topic */
/** @typedef {"priority" | "in_ms" | "range_ms"} Value */
/** @typedef {{ topic: string, key?: string | null, priority?: number, priority_from?: string, in_ms?: number, range_ms?: number }} Target */

/** Kind → which field of a target says when it is delivered, its label, and what it begins with. @type {Record<string, [Value, string, string]>} */
const VALUES = {
  priority: ["priority", gettext("Priority"), "100"],
  "fixed-time": ["in_ms", gettext("Delay (ms)"), "0"],
  "range-merge": ["range_ms", gettext("Range (ms)"), "1000"],
};

export const kindOf = (/** @type {Topic[]} */ topics, /** @type {string} */ name) =>
  topics.find((topic) => topic.name === name)?.kind ?? "";

/**
 * @param {Topic[]} topics
 * @param {string} name
 * @param {string} label
 * @param {string | null | undefined} chosen
 * @param {() => void} changed
 */
export function topicSelect(topics, name, label, chosen, changed) {
  const names = topics.map((topic) => topic.name);
  if (chosen && !names.includes(chosen)) names.unshift(chosen);
  return h(
    "select",
    { class: "rc-select", name, "aria-label": label, onchange: changed },
    names.map((each) => h("option", { value: each, selected: each === chosen }, each)),
  );
}

/**
 * @param {string} name
 * @param {string} label
 * @param {string} value
 * @param {Record<string, any>} [more]
 */
export const input = (name, label, value, more = {}) =>
  h("input", { class: "rc-input", name, "aria-label": label, value, autocomplete: "off", ...more });

export class TargetFields {
  /**
   * `topics`: [{name, kind}] to choose from; `target`: as the API has it, to begin with.
   * @param {Topic[]} topics
   * @param {Target} target
   * @param {() => void} [onChange]
   */
  constructor(topics, target, onChange = () => {}) {
    this.topics = topics;
    this.topic = topicSelect(topics, "target", gettext("Target"), target.topic, () => {
      this.show();
      onChange();
    });
    this.value = input("value", "", "", { inputmode: "numeric", oninput: onChange });
    this.valueLabel = h("span");
    this.from = input(
      "priority_from",
      gettext("Priority from header"),
      (target.priority_from ?? "").replace(/^header:/, ""),
      {
        placeholder: gettext("none"),
        maxlength: 100,
        oninput: onChange,
      },
    );
    this.key = input("key", gettext("Key"), target.key ?? "", { placeholder: gettext("as it is"), oninput: onChange });
    this.topicBox = h("label", {}, gettext("To"), this.topic);
    this.valueBox = h("label", {}, this.valueLabel, this.value);
    this.fromBox = h("label", {}, gettext("Priority from header"), this.from);
    this.keyBox = h("label", {}, gettext("Key"), this.key);
    const kind = VALUES[this.kind];
    this.given = kind ? (target[kind[0]] ?? (kind[0] === "in_ms" ? 0 : target.priority_from ? "" : null)) : null;
    this.show();
  }

  get kind() {
    return kindOf(this.topics, this.topic.value);
  }

  show() {
    const kind = VALUES[this.kind];
    this.valueBox.hidden = !kind;
    this.keyBox.hidden = this.kind === "stream";
    this.fromBox.hidden = this.kind !== "priority";
    if (!kind) return;
    this.valueLabel.textContent = kind[1];
    this.value.setAttribute("aria-label", kind[1]);
    this.value.value = String(this.given ?? kind[2]);
    this.given = null;
  }

  /** As the API has it; raises what to say where something is wrong. */
  read() {
    const kind = VALUES[this.kind];
    /** @type {Target} */
    const target = { topic: this.topic.value };
    const from = this.fromBox.hidden ? "" : this.from.value.trim();
    if (from) target.priority_from = `header:${from}`;
    if (kind && !(from && !this.value.value.trim())) {
      if (!/^\d+$/.test(this.value.value.trim()))
        throw new Error(fill(gettext("%(field)s must be a whole number."), { field: kind[1] }));
      target[kind[0]] = Number(this.value.value);
    }
    if (!this.keyBox.hidden && this.key.value) target.key = this.key.value;
    return target;
  }
}
