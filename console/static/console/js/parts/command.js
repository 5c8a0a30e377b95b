// The same as a command for a terminal, to copy.
import { h, icon, setText } from "../core/dom.js";
import { gettext } from "../core/text.js";
import { toast } from "../core/toast.js";

export class CommandLine {
  constructor() {
    this.text = h("code", { class: "rc-mono" });
    this.element = h(
      "div",
      { class: "rc-command" },
      h("span", { class: "rc-muted" }, gettext("The same in a terminal:")),
      this.text,
      h(
        "button",
        { type: "button", class: "rc-icon-button", "aria-label": gettext("Copy"), onclick: () => this.copy() },
        icon("content_copy"),
      ),
    );
  }

  show(/** @type {string} */ words) {
    setText(this.text, words);
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text.textContent ?? "");
      toast(gettext("Copied."), "success");
    } catch {
      // Without HTTPS there is no clipboard: it is marked, to be copied by hand.
      getSelection()?.selectAllChildren(this.text);
    }
  }
}
