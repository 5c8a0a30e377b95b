// What a problem is called in short, and the page that fixes it.
import { page, topicAddress } from "../core/page.js";
import { gettext } from "../core/text.js";
import { CHIPS } from "./problems.js";

/** Of the installation; those of topics are chips. @type {Record<string, string>} */
const PROBLEMS = {
  worker_lost: gettext("Worker lost"),
  zookeeper_away: gettext("No connection to ZooKeeper"),
  data_lost: gettext("The server's data was lost"),
  memory: gettext("Redis is nearly full"),
  eviction: gettext("Redis may delete messages"),
  unreadable_topic: gettext("Topic cannot be read"),
  unreadable_worker: gettext("Worker cannot be read"),
  outbox_away: gettext("Outbox cannot be read"),
  outbox_lagging: gettext("Outbox lagging"),
  outbox_parked: gettext("Outbox: messages cannot be sent"),
  recurring_failing: gettext("Recurring messages failing"),
  route_failing: gettext("Route failing"),
  route_idle: gettext("Nobody runs a route"),
};
const DEAD = ["dead_growing", "dead"];
const FLEET = ["unowned", "zookeeper_away", "worker_lost", "unreadable_worker", "no_workers"];

export const problemName = (/** @type {string} */ code) => CHIPS[code] ?? PROBLEMS[code] ?? code;

/**
 * @param {Pick<Live.Problem, "code" | "topic"> & { values?: Record<string, any> }} problem
 * @returns {string | null} null: no page does
 */
export function problemPlace({ code, topic, values = {} }) {
  if (FLEET.includes(code)) return `${page.root}workers/`;
  if (code === "outbox_parked" && values.database)
    return `${page.root}outbox/?state=parked&database=${values.database}`;
  if (code === "data_lost") return `${page.root}reconciliation/`;
  if (code === "recurring_failing") return `${page.root}recurring/`;
  if (code.startsWith("route_")) return `${page.root}routes/`;
  if (code.startsWith("outbox_")) return `${page.root}outbox/`;
  if (code === "ledger" && topic) return `${topicAddress(topic, "slots")}?sort=ledger`;
  return topic ? topicAddress(topic, DEAD.includes(code) ? "dead" : "") : null;
}
