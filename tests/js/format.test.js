import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytes,
  count,
  dateTime,
  duration,
  exact,
  rate,
  relative,
} from "../../console/static/console/js/core/format.js";

const cases = [
  [
    count,
    [
      [null, "–"],
      [0, "0"],
      [99_999, "99,999"],
      [100_000, "100K"],
      [-1_234_567, "-1.2M"],
    ],
  ],
  [
    exact,
    [
      [undefined, "–"],
      [1_234_567, "1,234,567"],
      ["9223372036854775807", "9,223,372,036,854,775,807"],
    ],
  ],
  [
    rate,
    [
      [null, "–"],
      [0.04, "0"],
      [9.94, "9.9"],
      [10.6, "11"],
    ],
  ],
  [
    duration,
    [
      [null, "–"],
      [0, "0 ms"],
      [999.4, "999 ms"],
      [1_500, "1.5 s"],
      [-1_500, "−1.5 s"],
      [60_000, "1 m"],
      [61_400, "1 m 1 s"],
      [3_599_900, "1 h"],
      [5_400_000, "1 h 30 m"],
      [86_400_000, "1 d"],
      [180_000_000, "2 d 2 h"],
    ],
  ],
  [
    bytes,
    [
      [null, "–"],
      [1023, "1,023 B"],
      [1024, "1 KiB"],
      [1536, "1.5 KiB"],
      [5 * 1024 ** 5, "5,120 TiB"],
    ],
  ],
];

for (const [write, pairs] of cases)
  test(write.name, () => {
    for (const [value, words] of pairs) assert.equal(write(value), words);
  });

test("a time has its date and zone, the same in every language", () => {
  assert.match(dateTime(1_360_321_323_000), /^2013-02-08 \d\d:02:03 \S+$/);
  assert.equal(dateTime(null), "–");
});

test("relative times are in words", () => {
  assert.equal(relative(1_000, 1_400), "now");
  assert.equal(relative(61_000, 1_000), "in 1 m");
  assert.equal(relative(1_000, 61_000), "1 m ago");
});
