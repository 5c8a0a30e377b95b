import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { page } from "../../console/static/console/js/core/page.js";
import { Socket } from "../../console/static/console/js/core/socket.js";

const made = [];
globalThis.WebSocket = class {
  static CLOSED = 3;
  constructor() {
    this.readyState = 1;
    made.push(this);
  }
  close() {
    this.readyState = 3;
    this.onclose?.({ code: 1000 });
  }
};
const listeners = {};
globalThis.addEventListener = () => {};
globalThis.document.addEventListener = (name, listener) => {
  listeners[name] = listener;
};
const see = (visible) => {
  globalThis.document.hidden = !visible;
  listeners.visibilitychange();
};

test("a tab that nobody sees listens to nothing, and comes back at once", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const states = [];
  new Socket(
    "live/overview/",
    () => {},
    (state) => states.push(state),
  );
  see(false);
  mock.timers.tick(29_000);
  see(true); // a moment away is nothing
  mock.timers.tick(60_000);
  assert.deepEqual([made.length, made[0].readyState], [1, 1]);
  see(false);
  mock.timers.tick(30_000);
  assert.equal(made[0].readyState, 3);
  mock.timers.tick(600_000);
  assert.equal(made.length, 1);
  assert.ok(!states.includes("lost"));
  see(true);
  assert.equal(made.length, 2);
});

test("who was signed out stays it until they have signed in again", async () => {
  const states = [];
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  let name = null;
  let asked = 0;
  globalThis.fetch = async () => {
    asked += 1;
    return name ? Response.json({ name }) : Response.json({ code: "unauthorized", message: "" }, { status: 401 });
  };
  page.username = "anna";
  new Socket(
    "live/overview/",
    () => {},
    (state) => states.push(state),
  );
  const count = made.length;
  made.at(-1).onclose({ code: 4401 });
  see(false);
  mock.timers.tick(60_000);
  await settled();
  assert.equal(asked, 0);
  see(true); // comes back, and asks at once
  await settled();
  for (const who of [null, "bert"]) {
    name = who;
    mock.timers.tick(10_000);
    await settled();
    assert.deepEqual([made.length, states.at(-1)], [count, "signedOut"]);
  }
  assert.equal(asked, 3);
  name = "anna";
  mock.timers.tick(10_000);
  await settled();
  assert.deepEqual([made.length, states.at(-1)], [count + 1, "connecting"]);
});
