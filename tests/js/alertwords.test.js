import assert from "node:assert/strict";
import { test } from "node:test";
import { silencedFor } from "../../console/static/console/js/alerts/alertwords.js";

test("a silence names all topics of an alert, or is for all that there are", () => {
  assert.equal(silencedFor({ topic: "orders", topics: [] }), "orders");
  assert.equal(silencedFor({ topic: "", topics: ["a", "b"] }), "a, b");
  assert.equal(silencedFor({ topic: "", topics: [] }), "*");
  const many = Array.from({ length: 1000 }, (_, number) => `orders-${number}`);
  assert.equal(silencedFor({ topic: "", topics: many }), "*");
});
