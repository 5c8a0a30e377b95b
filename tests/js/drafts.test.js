import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../console/static/console/js/core/api.js";
import { drafts, refusal } from "../../console/static/console/js/sending/drafts.js";

const messages = (...given) => drafts(...given).map(({ message }) => message);

test("one message is what was typed, and nothing that was left empty", () => {
  const values = { encoding: "text", priority: "90", key: "", version: "", headers: {}, due_ms: Number.NaN };
  assert.deepEqual(messages("one", "a\nb", values), [{ content: "a\nb", priority: "90" }]);
});

test("bytes are written as base64, with any space between", () => {
  assert.deepEqual(messages("one", "/w\nA=", { encoding: "base64" }), [{ content_base64: "/wA=" }]);
});

test("each line is a content, and keeps its space", () => {
  const found = drafts("lines", "one\n\n two \r\nthree", { due_ms: 5 });
  assert.deepEqual(
    found.map(({ line, message }) => [line, message.content, message.due_ms]),
    [
      [1, "one", 5],
      [3, " two ", 5],
      [4, "three", 5],
    ],
  );
  assert.throws(() => drafts("lines", " \n ", {}), /at least one/);
});

test("what an object says goes before the form, digit by digit", () => {
  const text =
    '{"content": "a", "version": 12345678901234567890, "headers": {"a": "b"}}\n{"content": "b", "due_ms": 7}';
  assert.deepEqual(messages("objects", text, { due_ms: 5, key: "k" }), [
    { due_ms: 5, key: "k", content: "a", version: "12345678901234567890", headers: { a: "b" } },
    { due_ms: 7, key: "k", content: "b" },
  ]);
  for (const bad of ["{", "[1]", '"x"', "[".repeat(50_000)])
    assert.throws(() => drafts("objects", `{"content": "a"}\n${bad}`, {}), /^Error: Line 2/);
});

test("a refusal names the line", () => {
  const found = drafts("lines", "fine\n\nlong", {});
  const fields = [{ field: "messages.1.content", problem: "has 4 bytes" }];
  assert.equal(refusal(new ApiError(422, "invalid", "m", fields), found), "Line 3: content: has 4 bytes");
  assert.equal(refusal(new Error("no"), found), "no");
  assert.equal(refusal(new ApiError(422, "invalid", "no", [{ field: "reason", problem: "x" }]), found), "no");
});
