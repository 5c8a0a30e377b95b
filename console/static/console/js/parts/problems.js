// What each problem code means, in words.
import { serverNow } from "../core/clock.js";
import { all, focusedElement, h, icon, replace } from "../core/dom.js";
import { count, dateTime, duration, rate, time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { sameDay } from "../core/zone.js";

/** @type {Record<string, (values: any) => string>} */
const SENTENCES = {
  no_workers: (/** @type {Record<string, any>} */ v) =>
    fill(
      ngettext(
        "%(ready)s message is ready and no worker listens.",
        "%(ready)s messages are ready and no worker listens.",
        v.ready,
      ),
      { ready: count(v.ready) },
    ),
  lagging: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("The oldest due message has been waiting for %(lag)s."), { lag: duration(v.lag_ms) }),
  falling_behind: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("The backlog grew from %(before)s to %(ready)s in five minutes."), {
      before: count(v.before),
      ready: count(v.ready),
    }),
  dead_growing: (/** @type {Record<string, any>} */ v) =>
    fill(
      ngettext(
        "%(more)s more dead letter within five minutes, %(dead)s in all.",
        "%(more)s more dead letters within five minutes, %(dead)s in all.",
        v.more,
      ),
      { more: count(v.more), dead: count(v.dead) },
    ),
  dead: (/** @type {Record<string, any>} */ v) =>
    v.fresh < v.dead
      ? fill(
          ngettext(
            "%(fresh)s dead letter nobody has acknowledged, %(dead)s in all.",
            "%(fresh)s dead letters nobody has acknowledged, %(dead)s in all.",
            v.fresh,
          ),
          { fresh: count(v.fresh), dead: count(v.dead) },
        )
      : fill(ngettext("%(n)s dead letter, not acknowledged.", "%(n)s dead letters, not acknowledged.", v.dead), {
          n: count(v.dead),
        }),
  paused: (/** @type {Record<string, any>} */ v) =>
    (v.until_ms ? `${fill(gettext("Paused until %(time)s."), { time: dateTime(v.until_ms) })} ` : "") +
    fill(ngettext("Paused; %(ready)s message is ready.", "Paused; %(ready)s messages are ready.", v.ready), {
      ready: count(v.ready),
    }),
  order_stuck: (/** @type {Record<string, any>} */ v) =>
    fill(
      ngettext(
        "Versions of %(keys)s key wait for one before them; its order has not moved for %(time)s.",
        "Versions of %(keys)s keys wait for one before them; the order of one has not moved for %(time)s.",
        v.keys,
      ),
      { keys: count(v.keys), time: duration(v.for_ms) },
    ),
  stuck: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("A delivery has been in flight for %(age)s."), { age: duration(v.oldest_ms) }),
  ledger: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("The ledger does not balance: %(gap)s messages unaccounted for."), { gap: count(v.gap) }),
  group_stuck: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("Stuck: for %(time)s it has read and finished nothing, and %(lag)s are ahead."), {
      time: duration(v.for_ms),
      lag: count(v.lag),
    }),
  group_behind: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("Falling behind: %(lag)s are ahead, %(before)s were; the next one has waited for %(age)s."), {
      lag: count(v.lag),
      before: count(v.before),
      age: duration(v.lag_ms),
    }),
  missed: (/** @type {Record<string, any>} */ v) =>
    fill(
      ngettext(
        "%(more)s entry was trimmed or deleted before it was read, within five minutes; %(missed)s in all.",
        "%(more)s entries were trimmed or deleted before they were read, within five minutes; %(missed)s in all.",
        v.more,
      ),
      { more: count(v.more), missed: count(v.missed) },
    ),
  lag_unknown: () => gettext("How much is ahead is not known: somebody wrote into the stream around us."),
  objective_burning: (/** @type {Record<string, any>} */ v) =>
    fill(
      gettext(
        "In the last hour %(late)s deliveries were later than %(time)s: the lateness budget is used up %(burn)s times too fast.",
      ),
      { late: count(v.late), time: duration(v.objective_ms), burn: rate(v.burn) },
    ),
  objective_missed: (/** @type {Record<string, any>} */ v) =>
    fill(
      gettext(
        "The lateness objective is missed: within a week %(late)s of %(total)s deliveries were later than %(time)s.",
      ),
      { late: count(v.late), total: count(v.total), time: duration(v.objective_ms) },
    ),
  starving: (/** @type {Record<string, any>} */ v) =>
    fill(
      gettext(
        "Priority %(priority)s starves in slot %(slot)s: its first message has waited for %(time)s at least, and %(n)s others were taken meanwhile.",
      ),
      { priority: count(v.priority), slot: v.slot, time: duration(v.waited_ms), n: count(v.overtaken) },
    ),
  worker_lost: (/** @type {Record<string, any>} */ v) => fill(gettext("Worker %(worker)s on %(host)s is silent."), v),
  eviction: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("Redis may delete messages: maxmemory-policy is %(policy)s."), v),
  zookeeper_away: (/** @type {Record<string, any>} */ v) =>
    fill(
      ngettext(
        "%(worker)s has no connection to ZooKeeper and takes nothing.",
        "%(n)s workers, %(worker)s among them, have no connection to ZooKeeper and take nothing.",
        v.count,
      ),
      { n: count(v.count), worker: v.worker },
    ),
  unowned: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("%(slots)s of %(all)s slots have no owner: nobody takes from them."), {
      slots: count(v.slots),
      all: count(v.all),
    }),
  journal_full: (/** @type {Record<string, any>} */ v) =>
    fill(
      gettext("The journal is %(share)s percent full; when it is full, sends are refused. Its readers must catch up."),
      v,
    ),
  unreadable_topic: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("Of the topic %(name)s something cannot be read: %(problem)s"), v),
  unreadable_worker: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("The row of the worker %(name)s is left out: it %(problem)s"), v),
  outbox_away: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("The outbox of database %(database)s cannot be read: %(problem)s"), v),
  outbox_lagging: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("In the outbox of database %(database)s a message has been waiting for %(lag)s."), {
      database: v.database,
      lag: duration(v.lag_ms),
    }),
  outbox_parked: (/** @type {Record<string, any>} */ v) =>
    fill(
      ngettext(
        "%(parked)s message in the outbox of database %(database)s cannot be sent.",
        "%(parked)s messages in the outbox of database %(database)s cannot be sent.",
        v.parked,
      ),
      { parked: count(v.parked), database: v.database },
    ),
  recurring_failing: (/** @type {Record<string, any>} */ v) =>
    fill(ngettext("%(n)s recurring message cannot be sent.", "%(n)s recurring messages cannot be sent.", v.count), {
      n: count(v.count),
    }),
  route_failing: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("The route %(route)s forwards nothing: %(problem)s"), v),
  route_idle: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("Nobody runs the route %(route)s, and %(n)s messages are waiting."), {
      route: v.route,
      n: count(v.waiting),
    }),
  data_lost: (/** @type {Record<string, any>} */ v) =>
    v.back_ms === null
      ? fill(
          gettext(
            "Redis holds other data than before: what it held at %(seen)s is gone. Restore it from the archive, or accept what is there.",
          ),
          { seen: dateTime(v.seen_ms) },
        )
      : fill(
          gettext(
            "Redis went back to its data of %(back)s: what was done from then until %(seen)s is lost. Restore it from the archive, or accept what is there.",
          ),
          { back: dateTime(v.back_ms), seen: dateTime(v.seen_ms) },
        ),
  memory: (/** @type {Record<string, any>} */ v) =>
    fill(gettext("Redis uses %(share)s percent of its memory limit."), v),
};

/** @type {Record<string, string>} */
export const CHIPS = {
  no_workers: gettext("No workers"),
  unowned: gettext("No owner"),
  lagging: gettext("Lagging"),
  order_stuck: gettext("Order stands still"),
  falling_behind: gettext("Falling behind"),
  dead_growing: gettext("Dead growing"),
  dead: gettext("Dead letters"),
  stuck: gettext("Stuck"),
  ledger: gettext("Ledger"),
  journal_full: gettext("Journal full"),
  group_stuck: gettext("Stuck"),
  group_behind: gettext("Falling behind"),
  missed: gettext("Entries missed"),
  objective_burning: gettext("Lateness budget"),
  objective_missed: gettext("Objective missed"),
  lag_unknown: gettext("Lag unknown"),
  starving: gettext("Starving"),
  paused: gettext("Paused"),
};

/** @type {Record<string, string>} */
const SYMBOLS = { critical: "error", warning: "warning", info: "info" };
/** @type {Record<string, string>} */
const WORDS = { critical: gettext("Critical"), warning: gettext("Warning"), info: gettext("Notice") };

export const sentence = (/** @type {Pick<Live.Problem, "code" | "values">} */ problem) =>
  (SENTENCES[problem.code] ?? (() => problem.code))(problem.values);

/** Since when; the date where it is not of today. */
const since = (/** @type {number} */ ms) =>
  h(
    "span",
    { class: "rc-muted rc-since", title: dateTime(ms) },
    fill(gettext("began %(time)s"), {
      time: sameDay(ms, serverNow()) ? time(ms) : dateTime(ms),
    }),
  );

const MOST_SHOWN = 6;
let unfolded = false;

/**
 * One line per problem; more than a few can be unfolded. `place(problem)`: the address of the page that fixes it;
 * `act(problem)`: a button that does, or null.
 * @param {HTMLElement} list
 * @param {Live.Problem[]} problems
 * @param {(problem: Live.Problem) => string | null} place
 * @param {(problem: Live.Problem) => Element | null} [act]
 */
export function showProblems(
  list,
  problems,
  place,
  act = /** @type {(problem: any) => Element | null} */ ((_problem) => null),
) {
  const key = JSON.stringify([problems, unfolded]);
  if (list.dataset.shown === key) return;
  list.dataset.shown = key;
  const focused = list.contains(document.activeElement) ? nameOf(focusedElement()) : null;
  const lines = problems
    .slice(0, unfolded ? problems.length : MOST_SHOWN)
    .map((problem) => line(problem, place(problem), act(problem)));
  const left = problems.length - MOST_SHOWN;
  if (left > 0) {
    const words = unfolded ? gettext("Show fewer") : fill(ngettext("%(n)s more", "%(n)s more", left), { n: left });
    const toggle = h("button", { type: "button", class: "rc-link", "aria-expanded": String(unfolded) }, words);
    toggle.addEventListener("click", () => {
      unfolded = !unfolded;
      showProblems(list, problems, place, act);
      list.querySelector("button")?.focus();
    });
    lines.push(h("li", { class: "rc-problem" }, toggle));
  }
  replace(list, lines);
  if (focused)
    all(list, "a, button")
      .find((each) => nameOf(each) === focused)
      ?.focus();
}

/** Of a link or button in the list, as long as its problem is there. */
const nameOf = (/** @type {Element} */ element) => `${element.closest("li")?.dataset.problem} ${element.tagName}`;

/**
 * @param {Live.Problem} problem
 * @param {string | null} address
 * @param {Element | null} button
 */
function line(problem, address, button) {
  return h(
    "li",
    {
      class: `rc-problem rc-problem-${problem.severity}`,
      dataset: { problem: `${problem.code} ${problem.topic} ${problem.values.worker ?? ""}` },
    },
    icon(SYMBOLS[problem.severity]),
    h(
      "p",
      {},
      h("span", { class: "rc-sr" }, `${WORDS[problem.severity]}: `),
      problem.topic && problem.topic !== page.topic?.name ? [h("strong", {}, problem.topic), " "] : null,
      sentence(problem),
      problem.since_ms ? [" ", since(problem.since_ms)] : null,
    ),
    button,
    address ? h("a", { href: address }, gettext("Open")) : null,
  );
}
