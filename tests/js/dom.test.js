import assert from "node:assert/strict";
import { test } from "node:test";
import { spelled } from "../../console/static/console/js/core/dom.js";

test("what turns the direction of a text is spelled out, and nothing else is changed", () => {
  assert.equal(spelled("\u202eKeyError\u2066"), "\\u202eKeyError\\u2066");
  for (const each of ["شكرا\u200f", "👩‍👩‍👧‍👦", "a\u200bb", 7, null]) assert.equal(spelled(each), each);
});
