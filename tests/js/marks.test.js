import assert from "node:assert/strict";
import { test } from "node:test";

const { together } = await import("../../console/static/console/js/parts/marks.js");
const mark = (from_ms, to_ms, kinds) => ({
  from_ms,
  to_ms,
  count: Object.values(kinds).reduce((sum, each) => sum + each, 0),
  kinds,
  markers: [from_ms],
});

test("marks that would lie on each other are one, and none is lost", () => {
  const marks = [mark(0, 0, { worker: 1 }), mark(10, 30, { worker: 2, problem: 1 }), mark(100, 100, { problem: 1 })];
  const found = together(marks, 40);
  assert.deepEqual(found, [
    { from_ms: 0, to_ms: 30, count: 4, kinds: { worker: 3, problem: 1 }, markers: [0, 10] },
    marks[2],
  ]);
  assert.deepEqual(together(marks, 0), marks);
  assert.deepEqual(together([], 40), []);
});
