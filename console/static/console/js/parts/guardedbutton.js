// Buttons and links that need a permission. Who lacks it sees them too: disabled, and saying what is missing.
import { h, icon } from "../core/dom.js";
import { single } from "../core/press.js";
import { toast } from "../core/toast.js";

/**
 * @param {{ action?: string, symbol: string, label: string, missing?: string | null, look?: string, bare?: boolean }} about
 *   `action`: by which tests find it; `missing`: the sentence that says so; `look`: further classes
 *   `bare`: only the symbol is seen
 * @param {() => any} act
 */
export function guardedButton({ action, symbol, label, missing, look = "", bare = false }, act) {
  const once = single(act);
  return h(
    "button",
    {
      type: "button",
      class: `${bare ? "rc-icon-button" : "rc-button"} ${look}`.trim(),
      "aria-label": bare ? label : null,
      dataset: action ? { action } : null,
      "aria-disabled": missing ? "true" : null,
      title: missing ?? (bare ? label : null),
      // The second half of a double click would undo what the first has switched.
      onclick: (/** @type {MouseEvent} */ { detail }) =>
        missing ? toast(missing, "error") : detail > 1 ? undefined : once(),
    },
    icon(symbol),
    bare ? null : label,
  );
}

/**
 * The same as a link.
 * @param {{ href: string, symbol: string, label: string, missing?: string | null, look?: string }} about
 */
export function guardedLink({ href, symbol, label, missing, look }) {
  return h(
    "a",
    {
      class: look ? `rc-button ${look}` : "rc-button",
      href: missing ? null : href,
      "aria-disabled": missing ? "true" : null,
      title: missing,
    },
    icon(symbol),
    label,
  );
}
