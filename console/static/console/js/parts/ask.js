// The one dialog before something is done: what it would do, why it is done, and the last click.
import { mayPass, wrongFields } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { copyAs } from "./copyas.js";

const REASON_MAX = 500;
/** So long after nobody could say what it would do. */
const AGAIN_MS = 3000;
let number = 0;

/**
 * Open it. What `submit({reason, confirm})` throws is shown, and the dialog stays; false leaves it open, too.
 * @param {object} about
 * @param {string} about.title
 * @param {any[]} [about.body] what stands between the title and the reason
 * @param {string} about.label of the last button
 * @param {boolean} [about.danger]
 * @param {boolean} [about.wide]
 * @param {"needed" | "optional" | null} [about.reason]
 * @param {string | null} [about.confirmWord] has to be typed; `needsWord(false)` asks for it no more
 * @param {string} [about.confirmLabel]
 * @param {HTMLElement} [about.focus] where one begins; the reason, where it is not given
 * @param {(given: {reason: string, confirm: string}) => any} about.submit
 * @param {() => void} [about.closed]
 */
export function ask({
  title,
  body = [],
  label,
  danger = false,
  wide = false,
  reason = "needed",
  confirmWord = null,
  confirmLabel = gettext("Type %(name)s to confirm"),
  focus = undefined,
  submit,
  closed = () => {},
}) {
  const heading = `rc-ask-${++number}`;
  const why = h("input", {
    class: "rc-input",
    name: "reason",
    maxlength: REASON_MAX,
    required: reason === "needed",
    autocomplete: "off",
  });
  const typed = h("input", { class: "rc-input", name: "confirm", maxlength: 100, autocomplete: "off" });
  const typedLabel = h("label", {}, fill(confirmLabel, { name: confirmWord }), typed);
  const error = h("p", { class: "rc-error", role: "alert", hidden: true });
  const button = h("button", { type: "submit", class: `rc-button rc-primary${danger ? " rc-danger" : ""}` }, label);
  // The second half of a double click was meant for what opened the dialog, and may come down here.
  button.addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
  const dialog = h("dialog", { class: `rc-dialog${wide ? " rc-wide" : ""}`, "aria-labelledby": heading });
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: heading }, title),
    body,
    reason ? h("label", {}, reason === "needed" ? gettext("Reason") : gettext("Reason (optional)"), why) : null,
    typedLabel,
    error,
    h(
      "div",
      { class: "rc-dialog-buttons" },
      copyAs(() => submit({ reason: why.value, confirm: state.word ? typed.value : "" })),
      h("button", { type: "button", class: "rc-button", onclick: () => dialog.close() }, gettext("Back")),
      button,
    ),
  );
  const state = { busy: false, held: false, word: confirmWord !== null, looked: 0 };
  const check = () => {
    typedLabel.hidden = !state.word;
    button.disabled = state.busy || state.held || (state.word && typed.value !== confirmWord);
  };
  typed.addEventListener("input", check);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    state.busy = true;
    error.hidden = true;
    check();
    try {
      if ((await submit({ reason: why.value, confirm: state.word ? typed.value : "" })) !== false) dialog.close();
    } catch (problem) {
      replace(error, messageOf(problem));
      error.hidden = false;
      // There are more than were counted before, by now.
      if (confirmWord !== null && wrongFields(problem).some(({ field }) => field === "confirm")) state.word = true;
    } finally {
      state.busy = false;
      check();
    }
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed();
  });
  const hold = (/** @type {boolean} */ held) => {
    state.held = held;
    check();
  };
  dialog.append(form);
  document.body.append(dialog);
  check();
  dialog.showModal();
  (focus ?? (state.word ? typed : reason ? why : button)).focus();
  return {
    dialog,
    button,
    /** Whether the last click waits for something else. */
    hold,
    /**
     * Ask what it would do, and hold the last click until `show` has drawn the answer, which lets it go. It is asked
     * again where that may pass by itself; of several that were asked for, only the last one counts.
     * @template Plan
     * @param {HTMLElement} place where it says why there is no answer
     * @param {() => Promise<Plan>} look
     * @param {(plan: Plan) => void} show
     * @param {number} [pause] before the first look, as somebody types
     */
    async plan(place, look, show, pause = 0) {
      const number = ++state.looked;
      hold(true);
      for (let wait = pause; ; wait = AGAIN_MS) {
        await new Promise((resolve) => setTimeout(resolve, wait));
        if (number !== state.looked || !dialog.open) return;
        try {
          const found = await look();
          return number === state.looked ? show(found) : undefined;
        } catch (problem) {
          if (number !== state.looked) return;
          replace(place, h("p", { class: "rc-error" }, messageOf(problem)));
          if (!mayPass(problem)) return;
        }
      }
    },
    needsWord(/** @type {boolean} */ word) {
      state.word = word;
      check();
    },
  };
}
