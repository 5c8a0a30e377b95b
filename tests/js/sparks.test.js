import assert from "node:assert/strict";
import { test } from "node:test";
import { Sparks } from "../../console/static/console/js/time/sparks.js";

const frame = (at_ms, backlog, length) => ({ at_ms, topics: [{ name: "orders", backlog, length }] });

test("a page that stays open goes on where the keeper's history ends", () => {
  const sparks = new Sparks();
  sparks.load({ at_ms: 30_000, step_ms: 15_000, sparks: { orders: [4, 7] } });
  sparks.follow(frame(31_000, 5));
  assert.deepEqual(sparks.of("orders"), [4, 7]);
  sparks.follow(frame(44_999, 9));
  assert.deepEqual(sparks.of("orders"), [4, 9]);
  sparks.follow(frame(45_000, 1));
  sparks.follow(frame(46_000, 2));
  assert.deepEqual(sparks.of("orders"), [4, 9, 2]);
});

test("it begins with the first frame, holds 15 minutes, and starts again with what the keeper has", () => {
  const sparks = new Sparks();
  assert.deepEqual(sparks.of("orders"), []);
  for (let n = 0; n < 100; n += 1) sparks.follow(frame(n * 15_000, n));
  assert.equal(sparks.of("orders").length, 60);
  assert.equal(sparks.of("orders")[0], 40);
  sparks.load({ at_ms: 0, step_ms: 15_000, sparks: {} });
  sparks.follow(frame(1_000, 3));
  assert.deepEqual(sparks.of("orders"), [3]);
});

test("of a stream it goes on with what is kept, which is no backlog", () => {
  const sparks = new Sparks();
  sparks.load({ at_ms: 30_000, step_ms: 15_000, sparks: { orders: [1_600, 1_700] } });
  sparks.follow(frame(46_000, 0, 1_750));
  assert.deepEqual(sparks.of("orders"), [1_600, 1_700, 1_750]);
});
