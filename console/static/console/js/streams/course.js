// How a consumer group does, in words: judged by the server from its course, and not by a threshold.
import { h } from "../core/dom.js";
import { count, duration } from "../core/format.js";
import { fill, gettext } from "../core/text.js";

/** [word, look of the tag] @type {Record<string, [string, string]>} */
const WORDS = {
  keeping_up: [gettext("Keeps up"), "good"],
  catching_up: [gettext("Catches up"), "good"],
  falling_behind: [gettext("Falls behind"), "falling_behind"],
  stuck: [gettext("Stuck"), "dead"],
  paused: [gettext("Paused"), "paused"],
  unknown: [gettext("Not judged yet"), "neutral"],
};
/** @type {Record<string, (c: any) => string>} */
const SENTENCES = {
  keeping_up: () => gettext("It had read everything within the last minutes."),
  catching_up: (/** @type {Live.Course} */ c) =>
    fill(gettext("%(before)s were ahead %(time)s ago, %(now)s are now; at this pace it needs %(left)s more."), {
      before: count(c.lag_before),
      now: count(c.lag),
      time: duration(c.for_ms),
      left: duration(c.left_ms),
    }),
  falling_behind: (/** @type {Live.Course} */ c) =>
    fill(gettext("It read %(read)s within %(time)s, and still %(now)s are ahead; %(before)s were."), {
      read: count(c.read),
      before: count(c.lag_before),
      now: count(c.lag),
      time: duration(c.for_ms),
    }),
  stuck: (/** @type {Live.Course} */ c) =>
    fill(gettext("For %(time)s it has read and finished nothing, and %(now)s are ahead."), {
      time: duration(c.for_ms),
      now: count(c.lag),
    }),
  paused: () => gettext("Nothing is taken while it is paused."),
  unknown: (/** @type {Live.Course | undefined} */ c) =>
    c?.lag === null
      ? gettext("How much is ahead is not known: somebody wrote into the stream around us.")
      : gettext("It was looked at for too short a time to say."),
};

/** The word as a tag, with its sentence to point at. */
export function courseTag(/** @type {Live.Course | null | undefined} */ course) {
  const [word, look] = WORDS[course?.course ?? "unknown"];
  return h("span", { class: `rc-tag rc-tag-${look}`, title: courseSentence(course) }, word);
}

export const courseSentence = (/** @type {Live.Course | null | undefined} */ course) =>
  SENTENCES[course?.course ?? "unknown"](course);
