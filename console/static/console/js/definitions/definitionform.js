// The form of a topic definition: every field with its unit, its meaning, and what is wrong with it.
import { h, replace, setText } from "../core/dom.js";
import { bytes, duration, exact } from "../core/format.js";
import { fill, gettext } from "../core/text.js";

/** @type {Record<string, [string, number][]>} */
const UNITS = {
  duration: [
    ["ms", 1],
    ["s", 1000],
    ["min", 60_000],
    ["h", 3_600_000],
    ["d", 86_400_000],
  ],
  bytes: [
    ["B", 1],
    ["KiB", 1024],
    ["MiB", 1024 * 1024],
  ],
};

/** A value as people read it. */
export function shown(/** @type {Live.Field | undefined} */ field, /** @type {any} */ value) {
  if (value === null || value === undefined || value === "") return "–";
  if (!field) return typeof value === "string" ? value : JSON.stringify(value);
  if (field.input === "flag") return value ? gettext("yes") : gettext("no");
  if (field.input === "choice") return field.options.find(([option]) => option === value)?.[1] ?? String(value);
  if (value === 0 && field.zero) return `0 (${field.zero})`;
  if (field.input === "duration") return duration(value);
  if (field.input === "bytes") return bytes(value);
  return typeof value === "number" ? exact(value) : String(value);
}

export class DefinitionForm {
  /**
   * `isNew`: what is fixed can be chosen; `disabled`: why nothing can be changed; `onChange(number of changed fields)`.
   * @param {Live.Field[]} fields
   * @param {Live.Definition} values
   * @param {{ isNew?: boolean, disabled?: string | null, onChange?: (edited: number) => void }} [options]
   */
  constructor(fields, values, { isNew = false, disabled = null, onChange = (_edited) => {} } = {}) {
    this.base = values;
    this.isNew = isNew;
    this.onChange = onChange;
    this.rows = fields.map((field) => new Row(field, isNew, disabled, () => this.changed()));
    this.kind = this.rows.find((row) => row.field.name === "kind");
    this.element = h(
      "div",
      { class: "rc-definition-fields" },
      this.rows.map((row) => row.element),
    );
    this.set(values);
  }

  /** Show values as what the form begins from. */
  load(/** @type {Live.Definition} */ values) {
    this.base = values;
    this.set(values);
  }

  set(/** @type {Live.Definition} */ values) {
    for (const row of this.rows) row.set(values[row.field.name]);
    this.changed();
  }

  /** @returns {Live.Definition} */
  values() {
    return Object.fromEntries(this.rows.map((row) => [row.field.name, row.value()]));
  }

  /** The names of the fields that are not as they were. */
  edited() {
    return this.rows.filter((row) => row.value() !== this.base[row.field.name]).map((row) => row.field.name);
  }

  changed() {
    // What does not fit the kind is not asked for, and goes as it was.
    const other = this.kind?.value() === "stream" ? "queues" : "streams";
    for (const row of this.rows) row.element.hidden = row.field.of === other;
    for (const row of this.rows) row.mark(this.base[row.field.name], this.isNew);
    this.onChange(this.edited().length);
  }

  /** `problems`: [{field, problem}, …]; those of no field of ours are returned. */
  showProblems(/** @type {Api.FieldProblem[]} */ problems) {
    const left = [...problems];
    /** @type {Row | null} */
    let first = null;
    for (const row of this.rows) {
      const at = left.findIndex(({ field }) => field === row.field.name);
      row.complain(at < 0 ? "" : left[at].problem);
      if (at >= 0) {
        left.splice(at, 1);
        first ??= row;
      }
    }
    first?.input.focus();
    return left;
  }
}

class Row {
  /**
   * @param {Live.Field} field
   * @param {boolean} isNew
   * @param {string | null} disabled
   * @param {() => void} onChange
   */
  constructor(field, isNew, disabled, onChange) {
    this.field = field;
    this.locked = Boolean(disabled) || (field.fixed && !isNew);
    const ident = `rc-field-${field.name}`;
    this.input = this.build(ident, onChange);
    this.input.disabled = this.locked;
    this.unit = this.units(onChange);
    this.problem = h("p", { class: "rc-error", id: `${ident}-problem`, hidden: true });
    this.before = h("span", { class: "rc-before" });
    this.reading = h("span", { class: "rc-muted rc-reading" });
    this.element = h(
      "div",
      { class: `rc-field rc-field-${field.input}` },
      h("label", { for: ident }, field.label),
      h("div", { class: "rc-field-input" }, this.input, this.unit, this.reading, this.before),
      h("p", { class: "rc-muted", id: `${ident}-help` }, field.help),
      this.problem,
    );
    this.input.setAttribute("aria-describedby", `${ident}-help ${ident}-problem`);
  }

  build(/** @type {string} */ ident, /** @type {() => void} */ onChange) {
    const { input, options, name } = this.field;
    const common = { id: ident, name, class: "rc-input", oninput: onChange, autocomplete: "off" };
    if (input === "choice")
      return h(
        "select",
        { ...common, class: "rc-select" },
        options.map(([value, label]) => h("option", { value }, label)),
      );
    if (input === "flag") return h("input", { ...common, class: "", type: "checkbox" });
    if (input === "text") return h("textarea", { ...common, rows: 2, maxlength: this.field.high });
    if (input === "name" || input === "line")
      return h("input", { ...common, type: "text", maxlength: this.field.high, spellcheck: "false" });
    return h("input", { ...common, type: "number", min: 0, step: "any", inputmode: "decimal" });
  }

  units(/** @type {() => void} */ onChange) {
    const units = UNITS[this.field.input];
    if (!units) return null;
    return h(
      "select",
      {
        class: "rc-select",
        disabled: this.locked,
        "aria-label": fill(gettext("Unit of %(field)s"), { field: this.field.label }),
        oninput: onChange,
      },
      units.map(([name, size]) => h("option", { value: size }, name)),
    );
  }

  set(/** @type {any} */ value) {
    this.complain("");
    const { input } = this.field;
    if (input === "flag") /** @type {HTMLInputElement} */ (this.input).checked = Boolean(value);
    else if (this.unit && typeof value === "number") {
      const [smallest] = UNITS[input];
      const [, size] = UNITS[input].findLast(([, each]) => value && value % each === 0) ?? smallest;
      this.unit.value = String(size);
      this.input.value = String(value / size);
    } else this.input.value = value ?? "";
  }

  value() {
    const { input } = this.field;
    if (input === "flag") return /** @type {HTMLInputElement} */ (this.input).checked;
    if (["name", "choice", "line", "text"].includes(input)) return this.input.value;
    const number =
      this.input.value.trim() === "" ? Number.NaN : Number(this.input.value) * Number(this.unit?.value ?? 1);
    // What is no whole number goes to the server as it was typed, which says what is wrong with it.
    const whole = Math.round(number);
    return Math.abs(number - whole) < 1e-6 && Number.isSafeInteger(whole) ? whole : this.input.value;
  }

  mark(/** @type {any} */ base, /** @type {boolean} */ isNew) {
    const value = this.value();
    const changed = !isNew && value !== base;
    this.element.classList.toggle("rc-changed", changed);
    setText(this.before, changed ? fill(gettext("was %(value)s"), { value: shown(this.field, base) }) : "");
    const numeric = typeof value === "number";
    setText(this.reading, numeric && value === 0 && this.field.zero ? this.field.zero : "");
    if (numeric) this.complain("");
  }

  complain(/** @type {string} */ words) {
    replace(this.problem, words);
    this.problem.hidden = !words;
    if (words) this.input.setAttribute("aria-invalid", "true");
    else this.input.removeAttribute("aria-invalid");
  }
}
