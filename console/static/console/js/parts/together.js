// What lies beside a list comes at once, when all of it is there: nothing is pushed away while somebody reads or presses it.
import { h } from "../core/dom.js";

export class Together {
  /**
   * @param {{ first: Promise<void> }} list
   * @param {(Element | null)[]} elements
   */
  constructor(list, elements) {
    this.element = h("div", { class: "rc-together", hidden: true }, elements);
    this.rest = Promise.resolve();
    list.first
      .then(() => this.rest)
      .then(() => {
        this.element.hidden = false;
      });
  }

  /** What has to be there as well, where the list is: a promise that never fails. */
  wait(/** @type {Promise<void>} */ rest) {
    this.rest = rest;
  }
}
