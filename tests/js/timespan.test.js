import assert from "node:assert/strict";
import { test } from "node:test";

const { DAY, LONGEST, MINUTE, moved, read, ticks, within, written, zoomed } = await import(
  "../../console/static/console/js/time/timespan.js"
);
const NOW = 1_800_000_000_000;

test("a span is a minute at least, a year at most, and never in the future", () => {
  assert.deepEqual(within({ from: NOW - 10, to: NOW }, NOW), { from: NOW - MINUTE, to: NOW });
  assert.deepEqual(within({ from: 0, to: NOW }, NOW), { from: NOW - LONGEST, to: NOW });
  assert.deepEqual(within({ from: NOW, to: NOW + DAY }, NOW), { from: NOW - DAY, to: NOW });
  const short = within({ from: NOW - DAY, to: NOW - DAY + 10 }, NOW);
  assert.equal(short.to - short.from, MINUTE);
  assert.deepEqual(within({ from: NOW - DAY + 0.3, to: NOW - 5.6 }, NOW), { from: NOW - DAY, to: NOW - 6 });
  assert.ok(short.from < NOW - DAY && short.to > NOW - DAY + 10, "around what was asked for");
});

test("closer keeps the moment that is looked at where it is", () => {
  const span = { from: NOW - 4 * DAY, to: NOW - 2 * DAY };
  assert.deepEqual(zoomed(span, 0.5, NOW), { from: NOW - 3.5 * DAY, to: NOW - 2.5 * DAY });
  assert.deepEqual(zoomed(span, 0.5, NOW, span.from), { from: span.from, to: span.from + DAY });
  assert.deepEqual(zoomed(span, 4, NOW), { from: NOW - 8 * DAY, to: NOW }, "and ends now");
});

test("earlier and later, as far as now", () => {
  const span = { from: NOW - 3 * DAY, to: NOW - DAY };
  assert.deepEqual(moved(span, -0.5, NOW), { from: NOW - 4 * DAY, to: NOW - 2 * DAY });
  assert.deepEqual(moved(span, 5, NOW), { from: NOW - 2 * DAY, to: NOW });
});

test("moments in addresses come back", () => {
  for (const ms of [NOW, NOW + 123]) assert.equal(read(written(ms)), ms);
  assert.equal(written(NOW), "2027-01-15T08:00:00Z");
  assert.equal(read(String(NOW)), NOW);
  for (const text of ["", "yesterday", "-5", "2027-13-01T00:00:00Z"]) assert.equal(read(text), null);
});

test("ticks are round and few", () => {
  for (const length of [MINUTE, 5 * MINUTE, 60 * MINUTE, DAY, 7 * DAY, 30 * DAY, LONGEST]) {
    const found = ticks({ from: NOW - length - 1234, to: NOW - 1234 }, 6);
    assert.ok(found.length >= 2 && found.length <= 7, `${length}: ${found.length}`);
    assert.ok(found.every((at) => at % 1000 === 0 && at >= NOW - length - 1234 && at <= NOW));
  }
});
