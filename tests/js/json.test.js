import assert from "node:assert/strict";
import { test } from "node:test";
import { Num, parse } from "../../console/static/console/js/core/json.js";
import { indented } from "../../console/static/console/js/sending/jsontext.js";

test("numbers keep every digit they came with", () => {
  for (const digits of ["12345678901234567890", "1e-400", "-0", "1.50", "0.1E+7"])
    assert.deepEqual(parse(digits), new Num(digits));
});

test("what a key means to JavaScript means nothing here, and the order stays", () => {
  const found = parse('{"__proto__": 1, "2": null, "1": [true, "\\u00e4"]}');
  assert.deepEqual([...found.keys()], ["__proto__", "2", "1"]);
  assert.deepEqual(found.get("1"), [true, "ä"]);
});

test("what is not JSON is refused", () => {
  for (const text of ["", "01", "1.", "nul", "[1,]", '{"a" 1}', "{a: 1}", '"\n"', '"\\x"', "[1] 2", "NaN", "'a'"])
    assert.throws(() => parse(text), SyntaxError, text);
});

test("depth is bounded", () => {
  assert.ok(parse("[".repeat(100) + "]".repeat(100)));
  assert.throws(() => parse("[".repeat(100_000)), SyntaxError);
});

test("rewriting it changes nothing but the space", () => {
  const text = '{"n":12345678901234567890,"list":[1.50,{}],"none":[],"text":"a\\"b"}';
  const lines = indented(text);
  assert.equal(lines.split("\n").length, 9);
  assert.equal(indented(lines), lines);
  assert.equal(lines.replace(/\n */g, "").replaceAll('": ', '":'), text);
});
