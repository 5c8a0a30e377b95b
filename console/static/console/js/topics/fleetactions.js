// What can be done to workers and the slots they own: drain, pin, and their opposites; and back to shared mode.
import { ofTopic, post } from "../core/api.js";
import { h } from "../core/dom.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { guardedButton } from "../parts/guardedbutton.js";

/** @typedef {{ label: string, symbol: string, reason?: boolean, slots?: boolean, ask: string, say: string, done: string }} Action */
/** @typedef {{ worker?: string, topic?: string, slots?: string, topics?: Live.FleetTopic[] }} Given */

/** @type {Record<string, Action>} */
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
    say: gettext("The next assignment gives them to any worker."),
    done: gettext("The slots are released."),
  },
  unfence: {
    label: gettext("Return to shared mode"),
    symbol: "lock_open",
    reason: true,
    ask: gettext("Hand the slots of %(topic)s back to shared mode?"),
    say: gettext(
      "For a topic whose workers ran with ZooKeeper and no longer will. Until then, workers without ZooKeeper cannot take from its slots. Refused while a worker with ZooKeeper still listens to it.",
    ),
    done: gettext("Slots handed back to shared mode: %(slots)s."),
  },
};

/** A button for an action; `given()` names the worker, and for slots the topic, or `topics` to choose from. */
export function fleetButton(/** @type {string} */ name, /** @type {() => Given} */ given) {
  const action = ACTIONS[name];
  const missing = page.grants.actions[name];
  const { symbol, label } = action;
  return guardedButton({ action: name, symbol, label, missing, look: "rc-small" }, () => confirm(name, given()));
}

function confirm(/** @type {string} */ name, /** @type {Given} */ given) {
  const action = ACTIONS[name];
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
  const chosen = () => (action.slots ? { ...given, topic: topic.value, slots: slots.value } : given);
  ask({
    title: fill(action.ask, given),
    body: [
      h("p", {}, action.say),
      action.slots
        ? [h("label", {}, gettext("Topic"), topic), h("label", {}, gettext("Slots: numbers and ranges"), slots)]
        : null,
    ],
    label: action.label,
    reason: action.reason ? "needed" : "optional",
    focus: action.slots ? slots : undefined,
    submit: async ({ reason }) => {
      const result = await request(name, chosen(), reason);
      toast(fill(action.done, { ...given, ...result }), "success");
    },
  });
}

/**
 * @param {string} name
 * @param {Given} given
 * @param {string} reason
 */
function request(name, { worker = "", topic = "", slots = "" }, reason) {
  if (name === "pin") return post(ofTopic(topic, "/slots:pin"), { worker, slots, reason });
  if (name === "unfence") return post(ofTopic(topic, ":unfence"), { reason });
  if (name === "unpin") return post(ofTopic(topic, "/slots:unpin"), { slots, reason });
  return post(`workers/${encodeURIComponent(worker)}:${name}`, { reason });
}
