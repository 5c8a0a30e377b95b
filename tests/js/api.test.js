import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { address, get, ofId, ofTopic, post, put } from "../../console/static/console/js/core/api.js";

let asked = [];
let answers = [];
beforeEach(() => {
  asked = [];
  answers = [];
  globalThis.fetch = async (url, options) => {
    asked.push([String(url), options]);
    const next = answers.shift();
    if (next instanceof Error) throw next;
    return next;
  };
});
const json = (status, body, headers = {}) => new Response(JSON.stringify(body), { status, headers });

test("empty query values are left out", () => {
  assert.equal(
    address("audit", { who: "", cursor: null, limit: 0, exact: false, text: "a b" }),
    "http://console.test/rmq/api/v1/audit?limit=0&text=a+b",
  );
});

test("an id in a path means nothing else on the way", () => {
  assert.equal(ofId("order-47.11"), "order-47.11");
  for (const odd of ["..", ".", "a/b", "x:run", "ä", "a b", "%41"]) assert.match(ofId(odd), /^%25([0-9a-f]{2})+$/);
  assert.equal(ofId("a/b"), "%25612f62");
  assert.equal(ofId("%ff00"), "%25ff00");
  assert.equal(ofTopic("a b", "/dead"), "topics/a%20b/dead");
});

test("a lost answer is asked for again with the same key", async () => {
  answers = [new TypeError("cut"), json(409, { code: "in_progress" }), json(200, { done: 1 })];
  assert.deepEqual(await post("operations/1:stop"), { done: 1 });
  const keys = asked.map(([, options]) => options.headers["Idempotency-Key"]);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0], /^[\x21-\x7e]{8,200}$/);
});

test("it gives up, and says that it may have been done", async () => {
  answers = Array.from({ length: 9 }, () => new TypeError("cut"));
  await assert.rejects(post("x"), { code: "unreachable", message: /Look whether it was done/ });
  assert.equal(asked.length, 3);
});

test("what is no POST is not repeated", async () => {
  answers = [new TypeError("cut")];
  await assert.rejects(put("topics/a", {}, {}, '"1"'), { code: "unreachable" });
  assert.equal(asked[0][1].headers["If-Match"], '"1"');
});

test("a refusal has the server's words, its fields, and ours where we have better ones", async () => {
  const fields = [{ field: "reason", problem: "is missing" }];
  answers = [
    json(422, { code: "invalid", message: "reason: is missing", fields }),
    json(401, { code: "unauthorized", message: "Send an API token" }),
    new Response("<html>", { status: 502, statusText: "Bad Gateway" }),
  ];
  await assert.rejects(get("x"), { status: 422, message: "reason: is missing", fields });
  await assert.rejects(get("x"), { message: "You are signed out; sign in again." });
  await assert.rejects(get("x"), { message: "502 Bad Gateway", code: "error" });
});
