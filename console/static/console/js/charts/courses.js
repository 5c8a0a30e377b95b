// Who owned each slot, stretch by stretch: out of what the history tells, and who owns them now.

/** `owner` null: nobody. @typedef {{ from: number, to: number, owner: string | null }} Stretch */
/** @typedef {import("../time/timespan.js").Span} Span */

/** So long after the last that was kept, what nobody owns now was nobody's since then; the keeper writes each minute. */
const UNWRITTEN_MS = 150_000;

/**
 * Of each slot its stretches in order; where nobody looked there is none.
 * @param {Api.Owning | null} kept
 * @param {Live.Owners | null} now who owns them now; null: slots are shared, or it is not known
 * @param {Span} span
 * @returns {Stretch[][]}
 */
export function courses(kept, now, span) {
  const known = kept?.known ?? [];
  const slots = Math.max(now?.of.length ?? 0, kept?.slots ?? 0);
  /** @type {[number, string | null][][]} */
  const changes = Array.from({ length: slots }, () => []);
  for (const [at, slot, place] of kept?.changes ?? []) changes[slot].push([at, kept?.names[place] ?? null]);
  const end = known.at(-1)?.[1] ?? span.from;
  return changes.map((course, slot) => {
    const found = cut(course, known);
    if (now && end < span.to) goOn(found, end, span, now, slot, known.length > 0);
    return found;
  });
}

/**
 * @param {[number, string | null][]} course
 * @param {number[][]} known
 */
function cut(course, known) {
  /** @type {Stretch[]} */
  const found = [];
  for (const [from, to] of known) {
    const before = course.findLast(([at]) => at <= from)?.[1] ?? null;
    let stretch = { from, to, owner: before };
    for (const [at, owner] of course) {
      if (at <= from || at >= to) continue;
      found.push({ ...stretch, to: at });
      stretch = { from: at, to, owner };
    }
    found.push(stretch);
  }
  return found.filter(({ from, to }) => from < to);
}

/**
 * From where the history ends to the end of the span.
 * @param {Stretch[]} found
 * @param {number} end
 * @param {Span} span
 * @param {Live.Owners} now
 * @param {number} slot
 * @param {boolean} kept whether anything was
 */
function goOn(found, end, { to }, now, slot, kept) {
  const owner = now.names[now.of[slot]] ?? null;
  const since = owner === null ? end : Math.min(to, Math.max(end, now.since_ms[slot] ?? end));
  const near = kept && to - end < UNWRITTEN_MS;
  const last = found.at(-1);
  if (owner === null && !near) return;
  if (near && last && since > end) last.to = since;
  if (last && last.owner === owner && last.to >= since) last.to = to;
  else if (since < to) found.push({ from: since, to, owner });
}

/** The stretch of a moment. @param {Stretch[]} course @param {number} at */
export const stretchAt = (course, at) =>
  course.find(({ from, to }) => from <= at && at < to) ?? course.findLast(({ to }) => to === at);

/**
 * Several slots as one line: nobody's where one of them is nobody's, else of who owns the most.
 * @param {Stretch[][]} some
 * @returns {Stretch[]}
 */
export function joined(some) {
  if (some.length === 1) return some[0];
  const moments = [...new Set(some.flat().flatMap(({ from, to }) => [from, to]))].sort((one, other) => one - other);
  const places = some.map(() => 0);
  /** @type {Stretch[]} */
  const found = [];
  for (let at = 0; at + 1 < moments.length; at += 1) {
    const [from, to] = [moments[at], moments[at + 1]];
    /** @type {Map<string | null, number>} */
    const numbers = new Map();
    for (const [index, course] of some.entries()) {
      while (course[places[index]] && course[places[index]].to <= from) places[index] += 1;
      const stretch = course[places[index]];
      if (stretch && stretch.from <= from) numbers.set(stretch.owner, (numbers.get(stretch.owner) ?? 0) + 1);
    }
    if (!numbers.size) continue;
    const owner = numbers.has(null) ? null : [...numbers].reduce((most, each) => (each[1] > most[1] ? each : most))[0];
    const last = found.at(-1);
    if (last && last.to === from && last.owner === owner) last.to = to;
    else found.push({ from, to, owner });
  }
  return found;
}

/**
 * Which slots had the same owner from and until the same moment, the newest first.
 * @param {Stretch[][]} all
 */
export function together(all) {
  /** @type {Map<string, Stretch & { slots: number[] }>} */
  const found = new Map();
  for (const [slot, course] of all.entries())
    for (const stretch of course) {
      const key = JSON.stringify([stretch.from, stretch.to, stretch.owner]);
      const known = found.get(key);
      if (known) known.slots.push(slot);
      else found.set(key, { ...stretch, slots: [slot] });
    }
  return [...found].sort(([, one], [, other]) => other.from - one.from || other.to - one.to);
}

/** Numbers in order as people write them: 0–3, 7. */
export function ranges(/** @type {number[]} */ numbers) {
  /** @type {number[][]} */
  const found = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(", ");
}
