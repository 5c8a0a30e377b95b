// One of a few, as buttons side by side; what is chosen is in the address.
import { param, setParams } from "../core/address.js";
import { h, press } from "../core/dom.js";

/** @typedef {[string, string]} Option */

export class Choice {
  /**
   * `name`: in the address; `options`: [[value, label]], the first by default; `changed()`: after a click.
   * @param {string} label
   * @param {string} name
   * @param {Option[]} options
   * @param {() => void} changed
   */
  constructor(label, name, options, changed) {
    this.name = name;
    this.value = options.some(([value]) => value === param(name)) ? param(name) : options[0][0];
    this.element = h(
      "div",
      { class: "rc-segments", role: "group", "aria-label": label },
      options.map(([value, words]) =>
        h("button", { type: "button", dataset: { name: value }, onclick: () => this.choose(value, changed) }, words),
      ),
    );
    this.mark();
  }

  choose(/** @type {string} */ value, /** @type {() => void} */ changed) {
    this.value = value;
    setParams({ [this.name]: value });
    this.mark();
    changed();
  }

  mark() {
    press(this.element, this.value);
  }
}
