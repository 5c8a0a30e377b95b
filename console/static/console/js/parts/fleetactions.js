// What can be done to workers and the slots they own: drain, pin, and their opposites.
import { h, icon, replace } from "../core/dom.js";
import { post } from "../core/http.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";

const ACTIONS = {
  drain: {
    label: gettext("Drain"),
    symbol: "logout",
    reason: true,
    ask: gettext("Drain %(worker)s?"),
    say: gettext(
      "Its slots move to other workers, each as soon as its present call has ended. It stays without slots, also after a restart, until it is undrained.",
    ),
    done: gettext("%(worker)s is being drained."),
  },
  undrain: {
    label: gettext("Undrain"),
    symbol: "login",
    ask: gettext("Undrain %(worker)s?"),
    say: gettext("It gets its share of slots again."),
    done: gettext("%(worker)s gets slots again."),
  },
  pin: {
    label: gettext("Move slots"),
    symbol: "move_down",
    slots: true,
    ask: gettext("Move slots to %(worker)s?"),
    say: gettext("They stay with this worker whenever it is there, until they are released."),
    done: gettext("The slots move to %(worker)s."),
  },
  unpin: {
    label: gettext("Release"),
    symbol: "lock_open",
    ask: gettext("Release slots %(slots)s of %(topic)s?"),
    say: gettext("They belong to whoever the balance gives them to."),
    done: gettext("The slots are released."),
  },
};

/** A button for an action; `given()` names the worker, and for slots the topic, or `topics` to choose from. */
export function fleetButton(name, given) {
  const action = ACTIONS[name];
  const missing = page.grants.actions[name];
  return h(
    "button",
    {
      type: "button",
      class: "rc-button rc-small",
      dataset: { action: name },
      "aria-disabled": missing ? "true" : null,
      title: missing,
      onclick: () => (missing ? toast(missing, "error") : confirm(name, given())),
    },
    icon(action.symbol),
    action.label,
  );
}

function confirm(name, given) {
  const action = ACTIONS[name];
  const reason = h("input", {
    class: "rc-input",
    name: "reason",
    maxlength: 500,
    required: Boolean(action.reason),
    autocomplete: "off",
  });
  const topic = h(
    "select",
    { class: "rc-input", name: "topic" },
    (given.topics ?? []).map((each) => h("option", { value: each.name }, `${each.name} (0–${each.slots - 1})`)),
  );
  const slots = h("input", {
    class: "rc-input rc-mono",
    name: "slots",
    required: true,
    placeholder: "0-7,12",
    autocomplete: "off",
  });
  const error = h("p", { class: "rc-error", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "rc-button rc-primary" }, action.label);
  const dialog = h("dialog", { class: "rc-dialog", "aria-labelledby": "rc-confirm-title" });
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "rc-confirm-title" }, fill(action.ask, given)),
    h("p", {}, action.say),
    action.slots
      ? [h("label", {}, gettext("Topic"), topic), h("label", {}, gettext("Slots: numbers and ranges"), slots)]
      : null,
    h("label", {}, action.reason ? gettext("Reason") : gettext("Reason (optional)"), reason),
    error,
    h(
      "div",
      { class: "rc-dialog-buttons" },
      h("button", { type: "button", class: "rc-button", onclick: () => dialog.close() }, gettext("Back")),
      submit,
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    const body = { worker: given.worker, topic: given.topic, slots: given.slots, reason: reason.value };
    try {
      await post(`${page.urls.act}${name}/`, action.slots ? { ...body, topic: topic.value, slots: slots.value } : body);
      dialog.close();
      toast(fill(action.done, given), "success");
    } catch (problem) {
      replace(error, problem.message);
      error.hidden = false;
    } finally {
      submit.disabled = false;
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  (action.slots ? slots : reason).focus();
}
