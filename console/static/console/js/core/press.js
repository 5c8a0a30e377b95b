// Nothing is drawn anew between a press and its release, of a pointer or of the space bar: a browser makes a click only
// of what is still there, so live data would swallow one now and then, the more slowly a person presses the more often.

/** Whose release never came, as of a pointer that left the window, has let go: so long nothing was heard of it. */
const LONGEST_MS = 5_000;
/** The click comes after the release, of a finger a little later. */
const CLICK_MS = 50;
const SPACE = "space";
/** What the space bar presses when it goes up; in a field for text it writes. */
const BY_SPACE =
  'button, summary, select, [role="button"], [role="tab"], [role="option"], input:is([type="checkbox"], [type="radio"], [type="button"], [type="submit"])';

/**
 * What a press does, once at a time: who presses again while an answer is late means the same, not another dialog.
 * @template {any[]} Given
 * @param {(...given: Given) => any} act
 */
export function single(act) {
  let busy = false;
  return async (/** @type {Given} */ ...given) => {
    if (busy) return;
    busy = true;
    try {
      await act(...given);
    } finally {
      busy = false;
    }
  };
}

/** What is down: a pointer's number, or the space bar. @type {Set<number | string>} */
const down = new Set();
/** @type {{ done: Promise<void>, end: () => void } | null} */
let press = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Whether something is being pressed just now. */
export const isPressed = () => press !== null;

/** As soon as nothing is pressed any more. */
export async function released() {
  while (press) await press.done;
}

function endAfter(/** @type {number} */ pause) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const ended = press;
    press = null;
    down.clear();
    ended?.end();
  }, pause);
}

function begin(/** @type {number | string} */ id) {
  down.add(id);
  if (!press) {
    let end = () => {};
    const done = new Promise((/** @type {(value?: any) => void} */ resolve) => {
      end = resolve;
    });
    press = { done, end };
  }
  endAfter(LONGEST_MS);
}

function release(/** @type {number | string} */ id) {
  if (!down.delete(id) || down.size) return;
  endAfter(CLICK_MS);
}

function releaseAll() {
  if (!press) return;
  down.clear();
  endAfter(CLICK_MS);
}

/** @param {string} name @param {(event: any) => void} listener */
const on = (name, listener) => addEventListener(name, listener, { capture: true, passive: true });
on("pointerdown", (/** @type {PointerEvent} */ event) => begin(event.pointerId));
on("pointerup", (/** @type {PointerEvent} */ event) => release(event.pointerId));
on("pointercancel", (/** @type {PointerEvent} */ event) => release(event.pointerId));
on("pointermove", (/** @type {PointerEvent} */ event) => {
  if (!down.has(event.pointerId)) return;
  if (event.buttons) endAfter(LONGEST_MS);
  else release(event.pointerId); // it was let go where nobody saw it
});
on("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.key === " " && /** @type {Element} */ (event.target).matches?.(BY_SPACE)) begin(SPACE);
});
on("keyup", (/** @type {KeyboardEvent} */ event) => event.key === " " && release(SPACE));
// What takes the pointer away and may keep its release for itself; of a list that was open its choice is told.
for (const name of ["contextmenu", "dragstart", "change"]) on(name, releaseAll);
// A press takes the focus away from an element, of which the window hears as well: only its own blur is another window's.
on("blur", (/** @type {FocusEvent} */ event) => event.target === window && releaseAll());
on("visibilitychange", releaseAll);
