// Nothing is drawn anew between the press of a button and its release: a browser makes a click only of what is still
// there, so live data would swallow one now and then, the more slowly a person presses the more often.

/** Whose release never came, as of a pointer that left the window, has let go. */
const LONGEST_MS = 30_000;
/** The click comes after the release, of a finger a little later. */
const CLICK_MS = 50;

/** @type {{ done: Promise<void>, end: () => void } | null} */
let press = null;

/** Whether something is being pressed just now. */
export const isPressed = () => press !== null;

/** As soon as nothing is pressed any more. */
export const released = () => press?.done ?? Promise.resolve();

addEventListener(
  "pointerdown",
  ({ button }) => {
    if (button !== 0) return; // of a menu's button no release is told
    let end = () => {};
    const done = new Promise((/** @type {(value?: any) => void} */ resolve) => {
      end = resolve;
    });
    const mine = {
      done,
      end() {
        if (press === mine) press = null;
        end();
      },
    };
    press?.end();
    press = mine;
    setTimeout(mine.end, LONGEST_MS);
  },
  { capture: true },
);
const ended = () => press && setTimeout(press.end, CLICK_MS);
// A list that opens, or what is dragged, may swallow the release: what follows tells of it.
for (const name of ["pointerup", "pointercancel", "click", "change", "keydown", "dragend"])
  addEventListener(name, ended, { capture: true });
addEventListener("pointermove", ({ buttons }) => buttons || ended(), { capture: true });
// Of the window itself: a field loses the focus by the very press of a button.
addEventListener("blur", ended);
