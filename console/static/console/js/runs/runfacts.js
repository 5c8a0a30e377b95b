// What a run of the pipeline was asked for, and what is worth knowing of it beside its findings.

import { h } from "../core/dom.js";
import { dateTime, exact } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { pairList } from "../parts/failure.js";
import { viaWords } from "../parts/viawords.js";
import { counted, staying } from "./erase.js";
import { sentence } from "./letgo.js";
import { COPIES, FINDINGS, GAPS, scope } from "./runwords.js";

/** @import { Pair } from "../parts/failure.js" */

/** What was asked for, and what came of it beside findings. */
export function runFacts(/** @type {Api.Detail} */ run) {
  const other = (/** @type {string} */ id) =>
    h("a", { href: `${page.places.reconciliation}${id}/` }, gettext("this run"));
  const changes = Object.entries(run.changes ?? {}).map(([kind, each]) =>
    h(
      "div",
      {},
      `${FINDINGS[kind] ?? kind}: `,
      fill(gettext("%(appeared)s new, %(stayed)s still there, %(gone)s gone"), {
        appeared: exact(each.appeared),
        stayed: exact(each.stayed),
        gone: exact(each.gone),
      }),
    ),
  );
  const gaps = run.gaps
    .slice(0, 10)
    .map((gap) =>
      h(
        "div",
        {},
        `${[gap.topic, gap.slot].filter((each) => each !== null).join(" ")}: ${GAPS[gap.reason] ?? gap.reason ?? ""}`,
      ),
    );
  const left = run.ledger_left_out;
  const others = left
    ? fill(gettext("%(rows)s rows are about other topics (%(topics)s) and were left out."), {
        rows: exact(left.rows),
        topics: Object.keys(left.topics).join(", "),
      })
    : "";
  /** @type {Pair[]} */
  const all = [
    [gettext("Topics"), scope(run)],
    [gettext("What was read"), run.read ? read(/** @type {Read} */ (run.read)) : ""],
    [gettext("Nothing is said of, for their journal is off"), run.without_journal.join(", ")],
    [gettext("Business ledger"), [run.ledger, others].filter(Boolean).join(" · ")],
    [gettext("Reason"), run.reason],
    [
      gettext("Who"),
      run.via === "schedule"
        ? fill(gettext("the schedule of %(who)s"), { who: run.user })
        : `${run.user} (${viaWords(run.via)})`,
    ],
    [gettext("Created"), dateTime(run.created_ms)],
    [gettext("Started"), run.started_ms ? dateTime(run.started_ms) : ""],
    [gettext("Finished"), run.finished_ms ? dateTime(run.finished_ms) : ""],
    [gettext("Nothing has moved since"), run.same_as ? other(run.same_as) : ""],
    [gettext("As it was at"), run.at_ms === null ? "" : dateTime(run.at_ms)],
    [gettext("What it did"), run.archived ? archived(run.archived) : ""],
    [gettext("Let go, as its topics want"), run.archived?.let_go.length ? run.archived.let_go.map(letGo) : ""],
    [gettext("Erased"), run.erased && !run.dry_run ? counted(run.erased) : ""],
    [gettext("Would be erased"), run.erased && run.dry_run ? counted(run.erased) : ""],
    [gettext("Stays"), run.erased?.left_n ? staying(run.erased) : ""],
    [gettext("Copies, by topic and state"), run.restored?.counts?.length ? run.restored.counts.map(copies) : ""],
    [gettext("Compared with"), run.compared_with ? other(run.compared_with) : ""],
    [gettext("Changes"), changes.length ? changes : ""],
    [gettext("Left out, slot by slot"), run.restored?.left_out?.length ? run.restored.left_out.map(leftOut) : ""],
    [gettext("Stay deleted, for somebody deleted them on purpose"), (run.restored?.deleted ?? []).join(", ")],
    [gettext("Streams, which are not put back yet"), (run.restored?.streams ?? []).join(", ")],
    [
      gettext("What to know"),
      run.restored?.said.length && !run.restored.left_out
        ? run.restored.said.map((/** @type {string} */ each) => h("div", {}, each))
        : "",
    ],
    [gettext("Gaps in journals"), gaps.length ? gaps : ""],
  ];
  return pairList(all.filter(([, value]) => value));
}

function archived(/** @type {Api.Archived} */ did) {
  return fill(
    gettext("transitions written: %(rows)s; journal entries trimmed: %(trimmed)s; folders joined: %(compacted)s"),
    {
      rows: exact(did.rows),
      trimmed: exact(did.trimmed),
      compacted: exact(did.compacted),
    },
  );
}

/** Slots of a topic that lost something and get nothing back, and why. */
function leftOut(/** @type {{ topic: string, reason: string, slots: number[] }} */ each) {
  const where = fill(gettext("%(topic)s, slot %(slot)s"), { topic: each.topic, slot: ranges(each.slots) });
  return h("div", {}, `${where}: ${GAPS[each.reason] ?? each.reason}`);
}

/** Of numbers that ascend: 0–3, 7. */
export function ranges(/** @type {number[]} */ numbers) {
  /** @type {[number, number][]} */
  const found = [];
  for (const each of numbers) {
    const last = found.at(-1);
    if (last && each === last[1] + 1) last[1] = each;
    else found.push([each, each]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

const letGo = (/** @type {Api.LetGo} */ each) => h("div", {}, `${each.topic}: ${sentence(each)}`);

/** @typedef {{compared: number, of: number}} Slots */
/** @typedef {{events: number, known: number, from_scratch: Record<string, string>, slots: Slots | null}} Read */
/** @param {Read} said */
function read(said) {
  const lines = [
    fill(gettext("%(new)s transitions; %(known)s were known from the run before"), {
      new: exact(said.events),
      known: exact(said.known),
    }),
  ];
  const whole = Object.keys(said.from_scratch);
  if (said.known && whole.length)
    lines.push(fill(gettext("Read from the beginning: %(topics)s"), { topics: whole.slice(0, 20).join(", ") }));
  if (said.slots)
    lines.push(
      fill(gettext("The queues of %(compared)s of %(slots)s slots: nothing has moved in the others"), {
        compared: exact(said.slots.compared),
        slots: exact(said.slots.of),
      }),
    );
  return lines.map((line) => h("div", {}, line));
}

const copies = (/** @type {{ topic: string, state: string, n: number }} */ { topic, state, n }) =>
  h("div", {}, `${topic}: ${exact(n)} ${COPIES[state] ?? state}`);
