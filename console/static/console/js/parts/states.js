// The states a waiting message can be in, and what may be done to it there.
import { gettext } from "../core/text.js";

export const STATES = {
  delayed: gettext("delayed"),
  ready: gettext("ready"),
  waiting: gettext("retrying"),
  in_flight: gettext("in flight"),
  dead: gettext("dead"),
  trash: gettext("removed"),
};

export const TIME_TITLES = {
  delayed: gettext("Due"),
  ready: gettext("Due"),
  waiting: gettext("Next try"),
  in_flight: gettext("Taken"),
  dead: gettext("Died"),
  trash: gettext("Removed at"),
};

export const ACTIONS_OF = {
  delayed: ["run_now", "reschedule", "cancel"],
  ready: ["reschedule", "cancel"],
  waiting: ["run_now", "reschedule", "cancel"],
  in_flight: [],
  dead: ["requeue", "drop"],
  trash: ["restore"],
};
