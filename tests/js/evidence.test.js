import assert from "node:assert/strict";
import { test } from "node:test";
import { causeWords } from "../../console/static/console/js/runs/causes.js";
import { shown } from "../../console/static/console/js/runs/evidence.js";

test("what a finding shows is said in words", () => {
  assert.equal(shown("expected", ["waiting", "in_flight"]), "waiting, in flight");
  assert.equal(shown("found", ["store", "retry", "prepare", "dead"]), "waiting, retrying, in flight, dead");
  assert.equal(shown("found", []), "nowhere");
  assert.equal(shown("queue", "r"), "retrying");
  assert.equal(shown("what", ["place", "no_content"]), "Place among equals, Content");
  assert.equal(shown("last_event", "acked"), "done");
  assert.equal(shown("with_server", true), "yes");
});

test("what is none of these stays as it is", () => {
  assert.equal(shown("expected", ["odd"]), "odd");
  assert.equal(shown("reason", "dead"), "dead");
  assert.equal(shown("found", "constructor"), "constructor");
});

test("a cause is said in words", () => {
  assert.equal(causeWords("with_server"), "Lost with the server");
  assert.equal(causeWords("what:due_ms,priority"), "Differs: Due, Priority");
  assert.equal(causeWords("missing:waiting"), "Missing: waiting");
  assert.equal(causeWords("event:acked"), "Event: done");
  assert.equal(causeWords("reason:trimmed"), "It was read and trimmed before anything was archived");
  assert.equal(causeWords("reason:of tomorrow"), "of tomorrow");
  assert.equal(causeWords("odd"), "odd");
  assert.equal(causeWords("constructor:a"), "constructor: a");
});
