import assert from "node:assert/strict";
import { test } from "node:test";
import { courses, joined, ranges, stretchAt, together } from "../../console/static/console/js/charts/courses.js";

const span = { from: 0, to: 100_000 };
const KEPT = {
  slots: 2,
  names: ["a", "b"],
  known: [[0, 40_000]],
  changes: [
    [0, 0, 0],
    [20_000, 0, 1],
    [30_000, 1, 0],
  ],
};
const owners = (of, since, names = ["a", "b"]) => ({ names, of, since_ms: since, epochs: [] });

test("a slot's course is cut where it changes hands, and nobody's before its first owner", () => {
  assert.deepEqual(courses(KEPT, null, span), [
    [
      { from: 0, to: 20_000, owner: "a" },
      { from: 20_000, to: 40_000, owner: "b" },
    ],
    [
      { from: 0, to: 30_000, owner: null },
      { from: 30_000, to: 40_000, owner: "a" },
    ],
  ]);
});

test("where nobody looked there is nothing, and what was before still counts behind it", () => {
  const kept = {
    ...KEPT,
    known: [
      [0, 10_000],
      [50_000, 60_000],
    ],
    changes: [[0, 0, 0]],
  };
  assert.deepEqual(courses(kept, null, span)[0], [
    { from: 0, to: 10_000, owner: "a" },
    { from: 50_000, to: 60_000, owner: "a" },
  ]);
});

test("what is not written yet is told by who owns it now, and since when", () => {
  const [first, second] = courses(KEPT, owners([1, 1], [20_000, 70_000]), span);
  assert.deepEqual(first.at(-1), { from: 20_000, to: 100_000, owner: "b" });
  assert.deepEqual(second.slice(1), [
    { from: 30_000, to: 70_000, owner: "a" },
    { from: 70_000, to: 100_000, owner: "b" },
  ]);
  assert.deepEqual(courses(KEPT, owners([-1, -1], [null, null]), span)[0].at(-1), {
    from: 40_000,
    to: 100_000,
    owner: null,
  });
});

test("without a history there is what the owners say of themselves", () => {
  assert.deepEqual(courses(null, owners([0, -1], [60_000, null]), span), [
    [{ from: 60_000, to: 100_000, owner: "a" }],
    [],
  ]);
});

test("long after the last that was kept nobody is made up", () => {
  const long = { from: 0, to: 1_000_000 };
  const [first, second] = courses(KEPT, owners([-1, 0], [null, 500_000]), long);
  assert.equal(first.at(-1).to, 40_000);
  assert.deepEqual(second.at(-1), { from: 500_000, to: 1_000_000, owner: "a" });
});

test("several slots in a line show the most, but for what is nobody's", () => {
  const a = [{ from: 0, to: 10, owner: "a" }];
  const b = [
    { from: 0, to: 5, owner: "b" },
    { from: 5, to: 10, owner: null },
  ];
  assert.deepEqual(joined([a, a, b]), [
    { from: 0, to: 5, owner: "a" },
    { from: 5, to: 10, owner: null },
  ]);
  assert.equal(joined([a]), a);
});

test("a moment's stretch, and which slots went together", () => {
  const [first] = courses(KEPT, null, span);
  assert.equal(stretchAt(first, 19_999).owner, "a");
  assert.equal(stretchAt(first, 20_000).owner, "b");
  assert.equal(stretchAt(first, 40_000).owner, "b");
  assert.equal(stretchAt(first, 50_000), undefined);
  const one = [{ from: 0, to: 10, owner: "a" }];
  assert.deepEqual(
    together([one, one, [{ from: 5, to: 10, owner: "b" }]]).map(([, { owner, slots }]) => [owner, slots]),
    [
      ["b", [2]],
      ["a", [0, 1]],
    ],
  );
  assert.equal(ranges([0, 1, 2, 5, 7, 8]), "0–2, 5, 7–8");
});
