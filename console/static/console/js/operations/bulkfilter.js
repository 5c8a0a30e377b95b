// The fields of a bulk dialog that say which messages are meant.
import { h, setText } from "../core/dom.js";
import { fill, gettext } from "../core/text.js";
import { inZone, momentOf } from "../core/zone.js";
import { STATES, TIME_TITLES } from "../parts/states.js";

const TEXT_MAX = 500;

export class FilterFields {
  /**
   * `states`: those to choose from; `given`: a filter to begin with; `slots`: how many there are, if known.
   * @param {string[]} states
   * @param {Record<string, any>} given
   * @param {number | undefined} slots
   * @param {boolean} payload
   * @param {() => void} onChange
   */
  constructor(states, given, slots, payload, onChange) {
    this.fingerprint = given.fingerprint ?? "";
    this.state = h(
      "select",
      { class: "rc-select", name: "state", onchange: onChange },
      states.map((name) => h("option", { value: name }, STATES[name] ?? name)),
    );
    this.state.value = states.includes(given.state) ? given.state : states[0];
    /**
     * @param {string} name
     * @param {string | undefined} value
     * @param {string} placeholder
     */
    const text = (name, value, placeholder) =>
      h("input", {
        class: "rc-input",
        name,
        value: value ?? "",
        maxlength: TEXT_MAX,
        autocomplete: "off",
        placeholder,
        disabled: !payload,
        title: payload ? null : gettext("Searching in content needs the permission “read_payload”."),
        oninput: onChange,
      });
    const when = (/** @type {string} */ name) =>
      h("input", { class: "rc-input", type: "datetime-local", step: 1, name, onchange: onChange });
    this.text = text("text", given.text, gettext("any"));
    this.where = text("where", given.where, "order.total > 100");
    this.error = text("error", given.error, gettext("any"));
    this.tenant = h("input", {
      class: "rc-input",
      name: "tenant",
      value: given.tenant ?? "",
      maxlength: 64,
      autocomplete: "off",
      placeholder: gettext("any"),
      oninput: onChange,
    });
    this.slot = h("input", {
      class: "rc-input",
      type: "number",
      min: 0,
      max: slots ? slots - 1 : 4095,
      step: 1,
      name: "slot",
      value: given.slot ?? "",
      placeholder: gettext("all"),
      oninput: onChange,
    });
    this.since = when("since");
    this.until = when("until");
    const failed = states.some((name) => ["dead", "retrying", "trash"].includes(name));
    this.sinceTitle = h("span", {});
    this.untilTitle = h("span", {});
    this.state.addEventListener("change", () => this.showTitles());
    this.showTitles();
    this.element = h(
      "div",
      { class: "rc-fields" },
      states.length > 1 ? h("label", {}, gettext("State"), this.state) : null,
      this.fingerprint
        ? h(
            "p",
            { class: "rc-field-wide" },
            h("span", { class: "rc-muted" }, `${gettext("Cluster")}: `),
            h("span", { class: "rc-mono" }, given.words ?? this.fingerprint),
          )
        : null,
      h("label", {}, gettext("Text in id or content"), this.text),
      h("label", {}, gettext("Comparison of JSON content"), this.where),
      failed && !this.fingerprint ? h("label", {}, gettext("Text in the error"), this.error) : null,
      h("label", {}, this.sinceTitle, this.since),
      h("label", {}, this.untilTitle, this.until),
      h("label", {}, gettext("Slot"), this.slot),
      h("label", {}, gettext("Tenant"), this.tenant),
    );
  }

  /** What the time of a message is depends on its state. */
  showTitles() {
    const time = TIME_TITLES[this.state.value];
    setText(this.sinceTitle, inZone(fill(gettext("%(time)s from"), { time })));
    setText(this.untilTitle, inZone(fill(gettext("%(time)s until"), { time })));
  }

  /** The filter as the server takes it. */
  read() {
    /** @type {Record<string, any>} */
    const filter = { state: this.state.value };
    if (this.text.value) filter.text = this.text.value;
    if (this.where.value) filter.where = this.where.value;
    if (this.error.value) filter.error = this.error.value;
    if (this.fingerprint) filter.fingerprint = this.fingerprint;
    if (this.tenant.value) filter.tenant = this.tenant.value;
    if (this.slot.value !== "") filter.slot = Number(this.slot.value);
    for (const [name, { value }] of Object.entries({ since_ms: this.since, until_ms: this.until }))
      if (value) filter[name] = momentOf(value);
    return filter;
  }
}
