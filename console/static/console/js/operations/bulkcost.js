// What an action on many messages would cost: how long, how much of Redis, and who works it off.
import { h } from "../core/dom.js";
import { count, duration, rate } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";

const SOON_MS = 1_000;

/** Sentences; a warning where it is dear. */
export function costLines(/** @type {Api.Cost} */ cost) {
  const looks = cost.looks
    ? fill(
        ngettext("It looks at %(n)s message to find them.", "It looks at %(n)s messages to find them.", cost.looks),
        {
          n: count(cost.looks),
        },
      )
    : null;
  const time = fill(
    cost.measured
      ? gettext("It takes about %(time)s, at the %(pace)s a second of former operations, or the slower pace you set.")
      : gettext("It takes about %(time)s, at an assumed %(pace)s a second, or the slower pace you set."),
    { time: duration(cost.for_ms), pace: rate(cost.pace_s) },
  );
  const redis = fill(
    ngettext(
      "Redis works about %(time)s for it, in %(n)s step or more; others are served in between, and you can stop it.",
      "Redis works about %(time)s for it, in %(n)s steps or more; others are served in between, and you can stop it.",
      cost.steps,
    ),
    { time: duration(cost.redis_ms), n: count(cost.steps) },
  );
  const drain =
    cost.drain_ms === null
      ? null
      : fill(gettext("At the pace of late, workers need %(time)s more for what it makes ready."), {
          time: duration(cost.drain_ms),
        });
  return h(
    "ul",
    { class: cost.redis_ms >= SOON_MS ? "rc-cost rc-warning" : "rc-cost rc-muted" },
    [looks, time, redis, drain].filter(Boolean).map((words) => h("li", {}, words)),
  );
}
