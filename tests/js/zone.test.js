import assert from "node:assert/strict";
import { test } from "node:test";

// Before the modules are loaded: what this reader has chosen.
const data = document.getElementById("page-data").textContent;
const preferences = { time_zone: "America/New_York", numbers: "1.234,5" };
document.getElementById = () => ({ textContent: JSON.stringify({ ...JSON.parse(data), preferences }) });
const JS = "../../console/static/console/js";
const { bytes, count, dateTime, dateTimeIn, duration, exact, numberFormat, percent, rate, time } = await import(
  `${JS}/core/format.js`
);
const { ahead, inZone, isZone, localText, momentIn, momentOf, putMoment, sameDay, zone } = await import(
  `${JS}/core/zone.js`
);
const { axisWords } = await import(`${JS}/charts/axiswords.js`);
const { ticks } = await import(`${JS}/time/timespan.js`);
const HOUR = 3_600_000;
const MS = Date.UTC(2026, 0, 2, 3, 4, 5);

test("numbers have the separators that were chosen", () => {
  assert.equal(count(12_345), "12.345");
  assert.equal(count(1_234), "1.234");
  assert.equal(count(1_250_000), "1,3M");
  assert.equal(exact("9223372036854775807"), "9.223.372.036.854.775.807");
  assert.equal(rate(9.94), "9,9");
  assert.equal(duration(1_500), "1,5 s");
  assert.equal(bytes(1_536), "1,5 KiB");
  assert.equal(percent(0.12345), "12,35 %");
  assert.equal(numberFormat({}, "1 234,5").format(-1_234.5), "-1\u202f234,5");
  assert.equal(numberFormat({}, "1,234.5").format(1_234.5), "1,234.5");
  assert.equal(numberFormat({}, "").format(1_234.5), "1,234.5", "as the language has it");
});

test("times are of the zone that was chosen", () => {
  assert.equal(zone, "America/New_York");
  assert.equal(dateTime(MS), "2026-01-01 22:04:05 EST");
  assert.equal(dateTimeIn(MS, "Asia/Tokyo"), "2026-01-02 12:04:05 GMT+9");
  assert.equal(time(MS), "22:04:05");
  assert.equal(ahead(MS), -5 * HOUR);
  assert.equal(inZone("Until"), "Until (America/New_York)");
  assert.ok(sameDay(MS, MS + HOUR) && !sameDay(MS, MS + 2 * HOUR));
  const day = { from: MS - 12 * HOUR, to: MS };
  assert.equal(axisWords(MS, day), "22:04");
  for (const at of ticks({ from: MS - 40 * 24 * HOUR, to: MS }, 8, 24 * HOUR))
    assert.equal(localText(at).slice(11), "00:00:00");
});

test("what is typed is read in that zone", () => {
  assert.equal(localText(MS + 7, 23), "2026-01-01T22:04:05.007");
  assert.equal(momentOf("2026-01-01T22:04:05.007"), MS + 7);
  assert.equal(momentOf("2026-01-01T22:04:05"), MS);
  assert.equal(momentOf("2026-07-01T00:00"), Date.UTC(2026, 6, 1, 4));
  for (const text of ["", "today", "2026-13-01T00:00"]) assert.ok(Number.isNaN(momentOf(text)));
});

test("where the clocks change, as Date has it", () => {
  assert.equal(momentOf("2026-11-01T01:30"), Date.UTC(2026, 10, 1, 5, 30), "the first of two");
  assert.equal(momentOf("2026-03-08T02:30"), Date.UTC(2026, 2, 8, 7, 30), "an hour that is left out");
  assert.equal(momentOf("2026-03-08T03:30"), Date.UTC(2026, 2, 8, 7, 30));
});

test("a zone that nobody has is told from one", () => {
  assert.ok(isZone("Asia/Tokyo") && !isZone("Asia/Tokio") && !isZone(""));
});

test("a field that was given a moment means it until somebody types", () => {
  const field = { value: "" };
  const second = Date.UTC(2026, 10, 1, 6, 30);
  putMoment(field, second + 7);
  assert.equal(field.value, "2026-11-01T01:30:00");
  assert.equal(momentIn(field), second, "the second of two, to the second that is shown");
  putMoment(field, second + 7, 23);
  assert.equal(momentIn(field), second + 7);
  field.value = "2026-11-01T01:30";
  assert.equal(momentIn(field), second - HOUR, "typed: the first");
  field.value = "";
  assert.ok(Number.isNaN(momentIn(field)));
});

test("an axis has every day once, and each where it begins, where the clocks are changed meanwhile", () => {
  for (const changed of [Date.UTC(2026, 2, 8, 7), Date.UTC(2026, 10, 1, 6)]) {
    const days = ticks({ from: changed - 72 * HOUR, to: changed + 72 * HOUR }, 8, 24 * HOUR).map((at) => localText(at));
    assert.equal(days.length, 6);
    assert.equal(new Set(days).size, 6);
    for (const day of days) assert.ok(day.endsWith("T00:00:00"), day);
    const parts = ticks({ from: changed - 20 * HOUR, to: changed + 20 * HOUR }, 8).map((at) => localText(at));
    for (const part of parts) assert.match(part, /T(00|06|12|18):00:00$/);
    const hours = ticks({ from: changed - 5 * HOUR, to: changed + 5 * HOUR }, 12);
    assert.deepEqual(
      hours,
      Array.from({ length: 11 }, (_, at) => changed + (at - 5) * HOUR),
      "none is left out",
    );
  }
});
