import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.addEventListener = () => {};
globalThis.MutationObserver = class {
  observe() {}
};
const { roundUp, Scale, STEPS } = await import("../../console/static/console/js/charts/scale.js");

test("the upper end is a round number", () => {
  for (const [value, round] of [
    [0, 1],
    [1, 1],
    [3, 5],
    [5, 5],
    [11, 20],
    [99, 100],
    [501, 1000],
  ])
    assert.equal(roundUp(value), round);
});

test("each step has a bound of its own, and every value a step", () => {
  for (const largest of [0, 1, 7, 8, 30, 1e6]) {
    const scale = new Scale(largest);
    assert.equal(new Set(scale.bounds).size, STEPS);
    assert.equal(scale.step(0), 0);
    assert.equal(scale.step(scale.top), STEPS - 1);
    assert.equal(scale.step(scale.top * 2), STEPS - 1);
  }
});
