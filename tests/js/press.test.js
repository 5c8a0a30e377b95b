import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

const listeners = {};
globalThis.addEventListener = (name, listener) => {
  listeners[name] = listener;
};
const { isPressed, released } = await import("../../console/static/console/js/core/press.js");
const { get } = await import("../../console/static/console/js/core/api.js");
const settled = async (promise) => {
  let done = false;
  const end = () => {
    done = true;
  };
  promise.then(end, end);
  for (let turn = 0; turn < 20; turn += 1) await null;
  return done;
};
const button = { matches: (selector) => selector.includes("button") };
const field = { matches: () => false };
const pointer = (name, pointerId = 1, buttons = 1) => listeners[name]({ pointerId, buttons });
const space = (name, target = button) => listeners[name]({ key: " ", target });

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.fetch = async () => ({ ok: true, json: async () => ({ n: 1 }) });
  listeners.contextmenu();
  mock.timers.tick(5_000);
});

test("an answer that comes during a press is given when it ends, the click included", async () => {
  assert.equal(await settled(get("topics")), true);
  pointer("pointerdown");
  const asked = get("topics");
  assert.equal(await settled(asked), false);
  pointer("pointerup");
  assert.deepEqual([isPressed(), await settled(asked)], [true, false]);
  mock.timers.tick(50);
  assert.deepEqual([isPressed(), await settled(asked), await asked], [false, true, { n: 1 }]);
});

test("that nobody answers is told after the press, too", async () => {
  globalThis.fetch = async () => {
    throw new TypeError("away");
  };
  pointer("pointerdown");
  const asked = get("topics");
  assert.equal(await settled(asked), false);
  pointer("pointerup");
  mock.timers.tick(50);
  await assert.rejects(asked, { code: "unreachable" });
});

test("what the press itself has stopped is stopped, though its answer was there", async () => {
  const stop = new AbortController();
  pointer("pointerdown");
  const asked = get("topics", {}, stop.signal);
  assert.equal(await settled(asked), false);
  pointer("pointerup");
  stop.abort();
  mock.timers.tick(50);
  await assert.rejects(asked, { name: "AbortError" });
});

test("the focus that a press takes away from something does not end it; another window's does", () => {
  pointer("pointerdown");
  listeners.blur({ target: field });
  mock.timers.tick(700);
  assert.equal(isPressed(), true);
  listeners.blur({ target: window });
  mock.timers.tick(50);
  assert.equal(isPressed(), false);
});

test("a press whose end nobody tells ends within seconds, unless the pointer moves on", async () => {
  pointer("pointerdown");
  mock.timers.tick(4_000);
  pointer("pointermove");
  mock.timers.tick(4_000);
  const waiting = released();
  assert.equal(isPressed(), true);
  mock.timers.tick(1_000);
  assert.deepEqual([isPressed(), await settled(waiting)], [false, true]);
});

test("a pointer that comes back with nothing pressed was let go elsewhere", () => {
  pointer("pointerdown");
  pointer("pointermove", 1, 0);
  mock.timers.tick(50);
  assert.equal(isPressed(), false);
});

test("moving without a press is none", () => {
  pointer("pointermove", 1, 0);
  pointer("pointermove", 2, 1);
  assert.equal(isPressed(), false);
});

for (const name of ["contextmenu", "dragstart", "change", "visibilitychange", "pointercancel"])
  test(`${name} ends a press`, () => {
    pointer("pointerdown");
    pointer(name);
    mock.timers.tick(50);
    assert.equal(isPressed(), false);
  });

test("of two fingers the last one ends it, and a double click is one press", async () => {
  pointer("pointerdown", 1);
  const waiting = released();
  pointer("pointerdown", 2);
  pointer("pointerup", 1);
  mock.timers.tick(700);
  assert.equal(isPressed(), true);
  pointer("pointerup", 2);
  mock.timers.tick(40);
  pointer("pointerdown", 3);
  mock.timers.tick(700);
  assert.deepEqual([isPressed(), await settled(waiting)], [true, false]);
  pointer("pointerup", 3);
  mock.timers.tick(50);
  assert.deepEqual([isPressed(), await settled(waiting)], [false, true]);
});

test("the space bar presses a button, and writes in a field", () => {
  space("keydown", field);
  assert.equal(isPressed(), false);
  space("keydown");
  mock.timers.tick(700);
  assert.equal(isPressed(), true);
  space("keyup", field);
  mock.timers.tick(50);
  assert.equal(isPressed(), false);
});
