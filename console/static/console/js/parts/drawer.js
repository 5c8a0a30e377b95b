// A panel at the right edge that leaves the page usable. Escape closes it.
import { focusedElement, h, icon, replace } from "../core/dom.js";
import { gettext } from "../core/text.js";

/** @type {Drawer | null} */
let open = null;

export class Drawer {
  /** Opening one closes the other. `onClose()` when it goes away. */
  constructor(/** @type {string} */ title, /** @type {() => void} */ onClose = () => {}) {
    open?.close();
    this.onClose = onClose;
    this.cameFrom = focusedElement();
    this.body = h("div", { class: "rc-drawer-body" });
    this.extra = h("div", { class: "rc-drawer-extra" });
    const close = h(
      "button",
      { type: "button", class: "rc-icon-button", "aria-label": gettext("Close"), onclick: () => this.close() },
      icon("close"),
    );
    this.element = h(
      "aside",
      { class: "rc-drawer", role: "dialog", "aria-label": title, tabindex: "-1" },
      h("header", {}, h("h2", {}, title), this.extra, close),
      this.body,
    );
    this.onKey = (/** @type {KeyboardEvent} */ event) =>
      event.key === "Escape" && !document.querySelector("dialog[open]") && this.close();
    document.addEventListener("keydown", this.onKey);
    document.body.append(this.element);
    this.element.focus();
    open = this;
  }

  show(/** @type {any[]} */ ...children) {
    replace(this.body, ...children);
  }

  close() {
    if (open !== this) return;
    open = null;
    document.removeEventListener("keydown", this.onKey);
    this.element.remove();
    this.cameFrom?.focus?.();
    this.onClose();
  }
}
