// What alerts are about, in words.
import { count, duration } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { problemName } from "../parts/problemnames.js";

/** @type {Record<string, string>} */
export const SEVERITIES = { critical: gettext("Critical"), warning: gettext("Warning"), info: gettext("Notice") };
/** @type {Record<string, string>} */
export const SEVERITY_TAGS = { critical: "dead", warning: "warn", info: "neutral" };
/** @type {Record<string, string>} */
export const STATES = { pending: gettext("Pending"), firing: gettext("Firing"), resolved: gettext("Over") };
/** @type {Record<string, string>} */
export const STATE_TAGS = { pending: "neutral", firing: "dead", resolved: "good" };
/** @type {Record<string, string>} */
const METRICS = {
  lag_ms: gettext("Lag"),
  backlog: gettext("Backlog"),
  ready: gettext("Ready"),
  retrying: gettext("Retrying"),
  in_flight: gettext("In flight"),
  dead: gettext("Dead letters"),
  oldest_ms: gettext("Oldest in flight"),
  in_s: gettext("In/s"),
  out_s: gettext("Out/s"),
  failed_s: gettext("Failed/s"),
  p99: gettext("Lateness p99"),
};
const TIMES = ["lag_ms", "oldest_ms", "p99"];
const NAMED_MOST = 5;

/** "Lag: 12 s, above 10 s", or the name of the problem. */
export function about(/** @type {Api.AlertOut} */ { rule, value }) {
  if (!rule) return gettext("The rule was deleted.");
  if (rule.problem) return problemName(rule.problem);
  const show = (/** @type {number | null} */ number) =>
    TIMES.includes(rule.metric) ? duration(number) : count(number);
  const values = { metric: METRICS[rule.metric] ?? rule.metric, value: show(value), bound: show(rule.threshold) };
  return fill(
    rule.comparison === "above"
      ? gettext("%(metric)s: %(value)s, above %(bound)s")
      : gettext("%(metric)s: %(value)s, below %(bound)s"),
    values,
  );
}

/** The topics of one alert for many. */
export function named(/** @type {string[]} */ topics) {
  const left = topics.length - NAMED_MOST;
  const names = topics.slice(0, NAMED_MOST).join(", ");
  if (left <= 0) return names;
  return fill(ngettext("%(names)s and %(n)s more topic", "%(names)s and %(n)s more topics", left), {
    names,
    n: count(left),
  });
}

/** How the telling of it stands. */
export function told(/** @type {Api.DeliveryOut[]} */ deliveries) {
  const by = (/** @type {string} */ state) => deliveries.filter((each) => each.state === state);
  const failed = deliveries.filter((each) => each.state !== "sent" && each.error);
  if (failed.length) return fill(gettext("Not sent to %(receiver)s: %(error)s"), failed[0]);
  if (by("waiting").length) return gettext("being sent");
  const names = [...new Set(by("sent").map((each) => each.receiver))].join(", ");
  return names ? fill(gettext("Sent to %(names)s"), { names }) : gettext("Nobody was told");
}

/** As many signs as a silence has for its topics. */
const PATTERNS_MOST = 5000;

/** For which topics an alert is silenced: those that it is for; all, where those are more than a silence can name. */
export function silencedFor(/** @type {{ topic: string, topics: string[] }} */ { topic, topics }) {
  const names = topics.join(", ");
  return topic || (names.length <= PATTERNS_MOST && names) || "*";
}
