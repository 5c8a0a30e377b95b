import assert from "node:assert/strict";
import { mock, test } from "node:test";

const listeners = {};
globalThis.addEventListener = (name, listener) => {
  listeners[name] = listener;
};
const { isPressed, released } = await import("../../console/static/console/js/core/press.js");
const { get } = await import("../../console/static/console/js/core/api.js");
const settled = async (promise) => {
  let done = false;
  promise.then(() => {
    done = true;
  });
  for (let turn = 0; turn < 10; turn += 1) await null;
  return done;
};

test("an answer that comes during a press is given when it ends, the click included", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.fetch = async () => ({ ok: true, json: async () => ({ n: 1 }) });
  assert.equal(await settled(get("topics")), true);
  listeners.pointerdown({ button: 0 });
  const asked = get("topics");
  assert.equal(await settled(asked), false);
  listeners.pointerup();
  assert.deepEqual([isPressed(), await settled(asked)], [true, false]);
  mock.timers.tick(50);
  assert.deepEqual([isPressed(), await settled(asked), await asked], [false, true, { n: 1 }]);
  mock.timers.reset();
});

test("a press whose end nobody tells ends by itself, and the next one has its own time", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  listeners.pointerdown({ button: 0 });
  mock.timers.tick(29_000);
  const first = released();
  listeners.pointerdown({ button: 0 });
  assert.equal(await settled(first), true);
  mock.timers.tick(2_000);
  assert.equal(isPressed(), true);
  listeners.pointercancel();
  mock.timers.tick(50);
  assert.equal(isPressed(), false);
  mock.timers.reset();
});

test("what swallows the release tells of it by what follows, and other buttons are no press", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  listeners.pointerdown({ button: 2 });
  assert.equal(isPressed(), false);
  for (const follows of [
    () => listeners.change({}),
    () => listeners.pointermove({ buttons: 0 }),
    () => listeners.blur({}),
  ]) {
    listeners.pointerdown({ button: 0 });
    listeners.pointermove({ buttons: 1 });
    mock.timers.tick(1_000);
    assert.equal(isPressed(), true);
    follows();
    mock.timers.tick(50);
    assert.equal(isPressed(), false);
  }
  mock.timers.reset();
});
