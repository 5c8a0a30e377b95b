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
    // Without HTTPS there is no clipboard: it is marked, to be copied by hand.
    if (!(await copyText(this.text.textContent ?? "", false))) getSelection()?.selectAllChildren(this.text);
  }
}

/** Into the clipboard; where there is none (without HTTPS), into a box to copy from, or false. */
export async function copyText(/** @type {string} */ text, box = true) {
  try {
    await navigator.clipboard.writeText(text);
    toast(gettext("Copied."), "success");
    return true;
  } catch {
    if (box) showToCopy(text);
    return false;
  }
}

function showToCopy(/** @type {string} */ text) {
  const area = h("textarea", { class: "rc-input rc-mono", rows: 12, readonly: true, "aria-label": gettext("Copy") });
  area.value = text;
  const close = h("button", { type: "button", class: "rc-button", onclick: () => dialog.close() }, gettext("Close"));
  const dialog = h(
    "dialog",
    { class: "rc-dialog rc-wide", "aria-label": gettext("Copy") },
    area,
    h("div", { class: "rc-dialog-buttons" }, close),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  area.select();
}
