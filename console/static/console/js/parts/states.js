// The states a waiting message can be in, and what may be done to it there.
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";

const inGroup = page.topic?.kind === "group";

/** @type {Record<string, string>} */
export const STATES = {
  delayed: gettext("delayed"),
  ready: gettext("ready"),
  retrying: gettext("retrying"),
  held: gettext("held"),
  in_flight: gettext("in flight"),
  dead: gettext("dead"),
  trash: gettext("removed"),
};

/** @type {Record<string, string>} */
export const TIME_TITLES = {
  delayed: gettext("Due"),
  ready: gettext("Due"),
  retrying: gettext("Next try"),
  held: gettext("Due"),
  in_flight: gettext("Taken"),
  dead: gettext("Died"),
  trash: gettext("Removed at"),
};

/** What the Messages tab can show; what is dead has a tab of its own. */
export const WAITING = ["delayed", "ready", "retrying", "held", "in_flight", "trash"].filter(
  (state) => (state !== "delayed" || (page.topic?.timed && !inGroup)) && (state !== "held" || !inGroup),
);

/** In a group entries keep the order of their stream: no time of their own can be given to them. */
const rescheduled = inGroup ? [] : ["reschedule"];
/** @type {Record<string, string[]>} */
export const ACTIONS_OF = {
  delayed: ["run_now", ...rescheduled, "cancel"],
  ready: [...rescheduled, "cancel"],
  retrying: ["run_now", ...rescheduled, "cancel"],
  held: [...rescheduled, "cancel"],
  in_flight: [],
  dead: ["requeue", "drop"],
  trash: ["restore"],
};
