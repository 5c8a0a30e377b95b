import assert from "node:assert/strict";
import { test } from "node:test";
import { readFilter, writeFilter } from "../../console/static/console/js/parts/routeform.js";

test("a filter is read as the API has it, and written as it was", () => {
  const when = { event: ["final", "boarding"], gate: ["A 12"] };
  assert.deepEqual(readFilter(" event=final|boarding ,gate = A 12,"), when);
  assert.equal(writeFilter(when), "event=final|boarding, gate=A 12");
  assert.equal(readFilter("  "), null);
  assert.equal(writeFilter(null), "");
});

test("what is no filter is said", () => {
  for (const text of ["final", "=final"]) assert.throws(() => readFilter(text), /header=value|是过滤条件/);
});
