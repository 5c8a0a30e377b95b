// What is done at once, without a dialog before it: a button, and beside it one that copies what it asks the API for.
import { h } from "../core/dom.js";
import { messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { copyButton } from "./copyas.js";
import { guardedButton } from "./guardedbutton.js";

/**
 * As `guardedButton`, but that what `act()` throws is said here: it throws also where its request is only to be copied.
 * `own`: what it changes is of whoever is signed in. A token has its own, so there is nothing to copy.
 * @param {Parameters<typeof guardedButton>[0] & { own?: boolean }} about
 * @param {() => any} act
 */
export function atOnce(about, act) {
  const press = async () => {
    try {
      await act();
    } catch (problem) {
      toast(messageOf(problem), "error");
    }
  };
  const button = guardedButton(about, press);
  return about.missing || about.own ? button : h("span", { class: "rc-at-once" }, button, copyButton(about.label, act));
}
