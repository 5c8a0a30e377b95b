import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { SENTENCES, sentence } = await import("../../console/static/console/js/parts/whywords.js");
const answer = readFileSync(new URL("../../rmq_core/why/answer.py", import.meta.url), "utf8");
const engine = [...answer.matchAll(/^ {4}"(\w+)": /gm)].map(([, code]) => code);

test("every reason of the engine has its words, and no other", () => {
  assert.ok(engine.length > 30);
  assert.deepEqual(Object.keys(SENTENCES).sort(), engine.sort());
});

test("a sentence is filled in, and what is hidden says so", () => {
  const values = { slot: 3, id: null, for_ms: 12_000, left_ms: 18_000 };
  const busy = "Slot 3 is busy with (hidden), in flight for 12 s; 18 s left until it times out.";
  assert.equal(sentence({ code: "busy", values }), busy);
  assert.equal(sentence({ code: "of a newer release", text: "As it says.", values }), "As it says.");
});
