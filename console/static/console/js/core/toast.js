// Short messages that go away by themselves; errors stay until they are closed.
import { byId, h, icon } from "./dom.js";
import { released } from "./press.js";
import { gettext } from "./text.js";

const STAY_MS = 6000;

export function toast(/** @type {string} */ text, kind = /** @type {"info" | "success" | "error"} */ ("info")) {
  const close = h("button", { type: "button", class: "rc-icon-button", "aria-label": gettext("Close") }, icon("close"));
  const symbol = { error: "error", success: "check_circle", info: "info" }[kind];
  const box = h("div", { class: `rc-toast rc-toast-${kind}` }, icon(symbol), h("span", {}, text), close);
  close.addEventListener("click", () => box.remove());
  byId("rc-toasts").append(box);
  if (kind !== "error") setTimeout(() => released().then(() => box.remove()), STAY_MS);
}
