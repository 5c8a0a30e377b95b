import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { address, get, ofId, ofTopic, post, put, remove } from "../../console/static/console/js/core/api.js";
import { page } from "../../console/static/console/js/core/page.js";

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
const keys = () => asked.map(([, options]) => options.headers["Idempotency-Key"]);
const cut = (times) => Array.from({ length: times }, () => new TypeError("cut"));
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
  assert.equal(asked.length, 3);
  assert.equal(new Set(keys()).size, 1);
  assert.match(keys()[0], /^[\x21-\x7e]{8,200}$/);
});

test("whoever presses again asks for the same, until there is an answer", async () => {
  const send = () => post("topics/a/messages", { content: "a" });
  answers = [...cut(3), ...cut(3), json(200, { sent: 1 }), json(200, { sent: 1 })];
  await assert.rejects(send(), { code: "unreachable", message: /nothing changed: .* not done twice/ });
  assert.equal(asked.length, 3);
  await assert.rejects(send(), { code: "unreachable" });
  assert.deepEqual(await send(), { sent: 1 });
  assert.equal(new Set(keys()).size, 1);
  await send();
  assert.equal(new Set(keys()).size, 2);
});

/** Nobody answers; where the page is to lose patience, it does at once. */
function silence(context, losesPatience = true) {
  context.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const patience = new AbortController();
  const late = (ms) => {
    context.mock.timers.setTime(Date.now() + ms);
    patience.abort(new DOMException("late", "TimeoutError"));
  };
  context.mock.method(AbortSignal, "timeout", (ms) => {
    if (losesPatience) queueMicrotask(() => late(ms));
    return patience.signal;
  });
  context.mock.method(globalThis, "fetch", (url, options) => {
    asked.push([String(url), options]);
    return new Promise((_, reject) => {
      options.signal.addEventListener("abort", () => reject(options.signal.reason));
    });
  });
}

test("a line that says nothing is waited for a minute, and what was asked for keeps its key", async (context) => {
  silence(context);
  await assert.rejects(post("x"), { code: "unreachable", message: /did not answer/ });
  assert.equal(asked.length, 1);
  context.mock.restoreAll();
  answers = [json(200, {})];
  await post("x");
  assert.equal(asked.length, 2);
  assert.equal(new Set(keys()).size, 1);
});

test("so is what only looks", async (context) => {
  silence(context);
  await assert.rejects(get("x", {}, new AbortController().signal), { message: "The server cannot be reached." });
});

test("who looks for something else waits no longer for the first answer", async (context) => {
  silence(context, false);
  const controller = new AbortController();
  const looking = get("x", {}, controller.signal);
  controller.abort();
  await assert.rejects(looking, { name: "AbortError" });
});

test("what is pressed again ten minutes later is meant anew", async (context) => {
  const pause = () => post("topics/a:pause", {});
  answers = [...cut(3), json(200, {})];
  await assert.rejects(pause(), { code: "unreachable" });
  context.mock.timers.enable({ apis: ["Date"], now: Date.now() + 600_001 });
  await pause();
  assert.equal(new Set(keys()).size, 2);
});

test("another request has another key", async () => {
  answers = [...cut(3), json(200, {})];
  await assert.rejects(post("topics/a/messages", { content: "a" }), { code: "unreachable" });
  await post("topics/a/messages", { content: "b" });
  assert.equal(new Set(keys()).size, 2);
});

test("a refusal is an answer: what is asked for after it has a key of its own", async () => {
  answers = [...cut(3), json(422, { code: "invalid", message: "no" }), json(200, {})];
  await assert.rejects(post("x"), { code: "unreachable" });
  await assert.rejects(post("x"), { code: "invalid" });
  await post("x");
  assert.equal(new Set(keys()).size, 2);
});

test("what is pressed again while it is under way is asked for once", async () => {
  answers = [json(200, { id: 1 })];
  assert.deepEqual(await Promise.all([post("x"), post("x")]), [{ id: 1 }, { id: 1 }]);
  assert.equal(asked.length, 1);
});

test("what is no POST is asked for again, too", async () => {
  answers = [new TypeError("cut"), json(200, {}), new TypeError("cut"), new Response(null, { status: 204 })];
  await put("topics/a", {}, {}, '"1"');
  assert.deepEqual(new Set(asked.map(([, options]) => options.headers["If-Match"])), new Set(['"1"']));
  assert.equal(new Set(keys()).size, 1);
  assert.equal(await remove("routes/a", {}), undefined);
  assert.equal(new Set(keys()).size, 2);
});

test("an answer that broke off in the middle is none, nor is a proxy's", async () => {
  const half = () => new Response('{"done": 1, "res', { status: 200 });
  const proxy = () => new Response("<html>", { status: 502, statusText: "Bad Gateway" });
  answers = [half(), proxy(), json(200, { done: 1 })];
  assert.deepEqual(await post("x"), { done: 1 });
  assert.equal(new Set(keys()).size, 1);
  answers = [half(), proxy()];
  await assert.rejects(get("x"), { code: "unreachable", message: "The server cannot be reached." });
  await assert.rejects(get("x"), { code: "unreachable", message: /reached\. \(502 Bad Gateway\)/ });
});

test("a refusal has the server's words, its fields, and ours where we have better ones", async () => {
  const fields = [{ field: "reason", problem: "is missing" }];
  answers = [
    json(422, { code: "invalid", message: "reason: is missing", fields }),
    json(401, { code: "unauthorized", message: "Send an API token" }),
    new Response("<html>", { status: 500, statusText: "Internal Server Error" }),
  ];
  await assert.rejects(get("x"), { status: 422, message: "reason: is missing", fields });
  await assert.rejects(get("x"), { message: "You are signed out. Sign in in another tab, then go on here." });
  await assert.rejects(get("x"), { message: "500 Internal Server Error", code: "error" });
});

test("what only looks did nothing that could be done twice", async () => {
  answers = [...cut(3), ...cut(3)];
  const away = { code: "unreachable", message: "The server cannot be reached." };
  await assert.rejects(post("topics/a/dead:requeue", { validate_only: true }), away);
  await assert.rejects(put("topics/a", { validate_only: true }, {}, '"1"'), away);
});

test("what was deleted is named, where the page is about something else", async () => {
  const engine = (name) => `topic '${name}' is not defined; define it first: client.define(Topic('${name}', kind=…))`;
  answers = ["unknown_topic", "no_such_version", "unknown_route"].map((code) =>
    json(404, { code, message: engine("mail.out") }),
  );
  await assert.rejects(post("a"), { message: "The topic mail.out was deleted, or is not there." });
  await assert.rejects(put("a", {}, {}, '"1"'), { message: "Somebody else has deleted this meanwhile." });
  await assert.rejects(post("a"), { message: "This route was deleted." });
  page.topic = { name: "mail", created_ms: 1 };
  try {
    answers = [json(404, { code: "unknown_topic", message: engine("mail") })];
    await assert.rejects(post("a"), { message: "This topic was deleted." });
  } finally {
    delete page.topic;
  }
});
