// The focus stays in its place when what had it goes away: Pause becomes Resume, a row is done, a list is drawn anew.
// Without this it falls to the top of the document, and whoever works by keyboard begins again there.
import { all, byId } from "../core/dom.js";

const FOCUSABLE =
  "a[href], button:not([disabled]), input:not([disabled], [type=hidden]), select, textarea, [tabindex='0']";

/** What was around it, from the inside: each with its place among what can have the focus there.
 * @type {{ around: HTMLElement, at: number }[]} */
let places = [];
/** @type {HTMLElement | null} */
let last = null;
const content = byId("rc-page");

content.addEventListener("focusin", (event) => {
  last = /** @type {HTMLElement} */ (event.target);
  places = [];
  for (let around = last.parentElement; around && content.contains(around); around = around.parentElement)
    places.push({ around, at: all(around, FOCUSABLE).indexOf(last) });
});
// Who presses on nothing, or on something elsewhere, has left it. A dialog is over the page, and leads back to it.
document.addEventListener("pointerdown", ({ target }) => {
  if (!(target instanceof Element && target.closest("dialog"))) last = null;
});
new MutationObserver(() => {
  if (!last || last.isConnected || document.activeElement !== document.body) return;
  last = null;
  standIn()?.focus({ preventScroll: true });
}).observe(document.body, { childList: true, subtree: true });

/** What is now where it was, in the smallest part of the page that is still there and has anything to press. */
function standIn() {
  for (const { around, at } of places) {
    const shown = around.isConnected ? all(around, FOCUSABLE).filter((each) => each.getClientRects().length > 0) : [];
    if (shown.length > 0) return shown[Math.min(Math.max(at, 0), shown.length - 1)];
  }
  return null;
}
