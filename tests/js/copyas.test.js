import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { Captured, captured, get, post, put } from "../../console/static/console/js/core/api.js";
import { asCurl, asPython } from "../../console/static/console/js/parts/copyas.js";

const sent = [];
globalThis.fetch = async (url, options) => {
  sent.push([String(url), options?.method]);
  return new Response("{}");
};

async function asked(ask) {
  try {
    await captured(ask);
  } catch (problem) {
    assert.ok(problem instanceof Captured);
    return problem.asked;
  }
  return null;
}

test("what would change something is caught, what only looks is not", async () => {
  const found = await asked(async () => {
    await get("topics");
    await post("topics/a:pause", { reason: "x" });
  });
  assert.deepEqual(
    [found.method, found.url, found.body],
    ["POST", "http://console.test/rmq/api/v1/topics/a:pause", { reason: "x" }],
  );
  assert.deepEqual(
    sent.map(([url]) => url),
    ["http://console.test/rmq/api/v1/topics"],
  );
  assert.equal(await asked(() => get("topics")), null);
  await post("topics/a:pause");
  assert.equal(sent.at(-1)[1], "POST");
});

test("the version that a change needs is in it", async () => {
  const found = await asked(() => put("topics/a", { reason: "b c" }, { weight: 2 }, '"1-2"'));
  assert.deepEqual(found.headers, { "If-Match": '"1-2"' });
  assert.match(found.url, /\?reason=b\+c$/);
});

test("a shell and Python read what was meant, whatever is in it", async () => {
  const odd = `it's "odd" $HOME \`id\` \\ ü\n\u2028 '''`;
  const found = await asked(() => post("topics/a/messages", { content: odd, validate: true }, { "If-Match": `"1's"` }));
  const words = execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }; RMQ_TOKEN=t; ${asCurl(found)}`]).toString();
  const given = words.split("\0");
  assert.deepEqual(JSON.parse(given[given.indexOf("-d") + 1]), found.body);
  assert.ok(
    given.includes("Authorization: Bearer t") && given.includes(`If-Match: "1's"`) && given.includes(found.url),
  );
  const program = `${asPython(found).split("with urllib")[0]}\nprint(json.dumps([json.loads(request.data), request.headers, request.method]))`;
  const env = { ...process.env, RMQ_TOKEN: "t" };
  const [body, headers, method] = JSON.parse(execFileSync("python3", ["-c", program], { env }).toString());
  assert.deepEqual(
    [body, headers["If-match"], headers.Authorization, method],
    [found.body, `"1's"`, "Bearer t", "POST"],
  );
});
