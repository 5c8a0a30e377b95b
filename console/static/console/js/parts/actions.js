// What can be done to messages and topics: the buttons, the confirmation, the request, the result.
import { ofTopic, post } from "../core/api.js";
import { h } from "../core/dom.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "./ask.js";
import { guardedButton } from "./guardedbutton.js";
import { newValue } from "./newvalue.js";

/** @typedef {{ label: string, symbol: string, reason?: boolean, danger?: boolean, value?: boolean, ask: (n: number) => string, say?: string, done: (n: number) => string }} Action */
/** @typedef {{ asked: number, done: number, results?: Api.MessageResult[] }} Result */

const ranked = page.topic?.timed === false;
const group = page.topic?.kind === "group";

/** @type {Record<string, Action>} */
const ACTIONS = {
  cancel: {
    label: gettext("Cancel"),
    symbol: "cancel",
    reason: true,
    danger: true,
    ask: (/** @type {number} */ n) =>
      ngettext("Cancel %(n)s message of %(topic)s?", "Cancel %(n)s messages of %(topic)s?", n),
    say: gettext("Taken out of the queue, never delivered. It can be restored for a while."),
    done: (/** @type {number} */ n) => ngettext("%(n)s message cancelled.", "%(n)s messages cancelled.", n),
  },
  run_now: {
    label: gettext("Run now"),
    symbol: "bolt",
    ask: (/** @type {number} */ n) =>
      ngettext("Run %(n)s message of %(topic)s now?", "Run %(n)s messages of %(topic)s now?", n),
    say: gettext("Ready at once, whatever the due time was."),
    done: (/** @type {number} */ n) => ngettext("%(n)s message is ready.", "%(n)s messages are ready.", n),
  },
  reschedule: ranked
    ? {
        label: gettext("Change priority"),
        symbol: "swap_vert",
        value: true,
        ask: (/** @type {number} */ n) =>
          ngettext(
            "Change the priority of %(n)s message of %(topic)s?",
            "Change the priority of %(n)s messages of %(topic)s?",
            n,
          ),
        done: (/** @type {number} */ n) =>
          ngettext("The priority of %(n)s message changed.", "The priority of %(n)s messages changed.", n),
      }
    : {
        label: gettext("Reschedule"),
        symbol: "schedule",
        value: true,
        ask: (/** @type {number} */ n) =>
          ngettext("Reschedule %(n)s message of %(topic)s?", "Reschedule %(n)s messages of %(topic)s?", n),
        done: (/** @type {number} */ n) => ngettext("%(n)s message rescheduled.", "%(n)s messages rescheduled.", n),
      },
  requeue: {
    label: gettext("Requeue"),
    symbol: "replay",
    reason: true,
    ask: (/** @type {number} */ n) =>
      ngettext("Requeue %(n)s dead letter of %(topic)s?", "Requeue %(n)s dead letters of %(topic)s?", n),
    say: gettext("Delivered again, with all retries."),
    done: (/** @type {number} */ n) => ngettext("%(n)s dead letter requeued.", "%(n)s dead letters requeued.", n),
  },
  drop: {
    label: gettext("Drop"),
    symbol: "delete",
    reason: true,
    danger: true,
    ask: (/** @type {number} */ n) =>
      ngettext("Drop %(n)s dead letter of %(topic)s?", "Drop %(n)s dead letters of %(topic)s?", n),
    say: gettext("Removed. It can be restored for a while."),
    done: (/** @type {number} */ n) => ngettext("%(n)s dead letter dropped.", "%(n)s dead letters dropped.", n),
  },
  restore: {
    label: gettext("Restore"),
    symbol: "undo",
    ask: (/** @type {number} */ n) =>
      ngettext("Restore %(n)s message of %(topic)s?", "Restore %(n)s messages of %(topic)s?", n),
    say: gettext("Back to where it was; what has become due meanwhile is ready at once."),
    done: (/** @type {number} */ n) => ngettext("%(n)s message restored.", "%(n)s messages restored.", n),
  },
  pause: {
    label: group ? gettext("Pause group") : gettext("Pause topic"),
    symbol: "pause_circle",
    ask: () => gettext("Pause %(topic)s?"),
    say: group
      ? gettext("Workers stop taking entries for this group; the others go on.")
      : gettext("Workers stop taking messages of this topic; sending goes on."),
    done: () => (group ? gettext("The group is paused.") : gettext("The topic is paused.")),
  },
  resume: {
    label: group ? gettext("Resume group") : gettext("Resume topic"),
    symbol: "play_circle",
    ask: () => gettext("Resume %(topic)s?"),
    say: group
      ? gettext("Workers take entries for this group again.")
      : gettext("Workers take messages of this topic again."),
    done: () => (group ? gettext("The group is resumed.") : gettext("The topic is resumed.")),
  },
  acknowledge: {
    label: gettext("Acknowledge"),
    symbol: "done_all",
    ask: () => gettext("Acknowledge the dead letters of %(topic)s?"),
    say: gettext("They stay where they are, and are no problem until another message dies. Your name is kept with it."),
    done: () => gettext("The dead letters are acknowledged."),
  },
};
/** Where each action is asked for, below the topic. @type {Record<string, string>} */
export const VERBS = {
  cancel: "/messages:cancel",
  run_now: "/messages:run",
  reschedule: "/messages:reschedule",
  restore: "/messages:restore",
  requeue: "/dead:requeue",
  drop: "/dead:drop",
  acknowledge: "/dead:acknowledge",
  pause: ":pause",
  resume: ":resume",
};
/** What a row says of the one that is meant, and of no later one that has its id: when it died, or was removed, or where
    it waits. @type {Record<string, "at_ms" | "place">} */
const AS_SEEN = {
  requeue: "at_ms",
  drop: "at_ms",
  restore: "at_ms",
  cancel: "place",
  run_now: "place",
  reschedule: "place",
};
/** @type {Record<string, string>} */
const STATUS = {
  in_flight: gettext("in flight"),
  held: gettext("held"),
  not_found: gettext("no longer there"),
  expires_first: gettext("left as before, expiring before delivery"),
  gone: gettext("left as before, its entry was deleted"),
  replaced: gettext("left as before, another one has its id by now"),
  moved: gettext("left as before, moved or sent anew since it was shown"),
};

/** A button for an action on `refs()`: [[slot, id], …]; `messages()`: the same as they are now. Forbidden ones are shown,
    disabled, and say why. `extra()`: more for the server. */
export function actionButton(
  /** @type {string} */ name,
  /** @type {() => Ref[]} */ refs,
  /** @type {(result: Result) => void} */ onDone,
  messages = /** @type {() => any[]} */ (() => []),
  extra = () => ({}),
) {
  const action = ACTIONS[name];
  const missing = page.grants.actions[name];
  const look = action.danger ? "rc-danger" : "";
  return guardedButton({ action: name, symbol: action.symbol, label: action.label, missing, look }, () =>
    confirm(name, refs(), onDone, messages(), extra()),
  );
}

/**
 * @param {string} name
 * @param {Ref[]} refs
 * @param {(result: Result) => void} onDone
 * @param {Api.Row[]} messages
 * @param {Record<string, any>} extra
 */
function confirm(name, refs, onDone, messages, extra) {
  const action = ACTIONS[name];
  const topic = page.topic;
  const value = action.value ? newValue(topic, messages) : null;
  const lines = refs.map(([slot, ident]) => `${ident}   (${fill(gettext("slot %(slot)s"), { slot })})`);
  const seen = messages.length === refs.length && AS_SEEN[name];
  const ids = refs.map(([slot, id], n) => ({ slot, id, ...(seen ? { [seen]: messages[n][seen] } : {}) }));
  ask({
    title: fill(action.ask(refs.length), { n: refs.length, topic: topic.name }),
    body: [
      action.say ? h("p", {}, action.say) : null,
      lines.length ? h("pre", { class: "rc-pre rc-ids" }, lines.join("\n")) : null,
      value?.element,
    ],
    label: action.label,
    danger: action.danger,
    reason: action.reason ? "needed" : "optional",
    focus: value?.input,
    submit: async ({ reason }) => {
      const body = { ...(ids.length ? { ids } : {}), reason, ...extra, ...value?.read() };
      /** @type {Result} */
      const result = await post(ofTopic(topic.name, VERBS[name]), body);
      report(name, result);
      onDone(result);
    },
  });
}

function report(/** @type {string} */ name, /** @type {Result} */ result) {
  const words = [fill(ACTIONS[name].done(result.done), { n: result.done })];
  for (const [status, label] of Object.entries(STATUS)) {
    const n = (result.results ?? []).filter((each) => each.status === status).length;
    if (n) words.push(fill(ngettext("%(n)s is %(status)s.", "%(n)s are %(status)s.", n), { n, status: label }));
  }
  toast(words.join(" "), result.done === result.asked ? "success" : "info");
}
