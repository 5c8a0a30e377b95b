// JSON without loss: numbers keep the digits they came with. Depth and size are bounded.

const DEEPEST = 100;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
/** @type {[string, boolean | null][]} */
const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const SPACE = /[ \t\n\r]*/y;

/** What JSON holds, as it is read here. @typedef {null | boolean | string | Num | any[] | Map<string, any>} Json */

export class Num {
  constructor(/** @type {string} */ digits) {
    this.digits = digits;
  }
}

/**
 * The value of a JSON text: objects are Maps, in the order written; numbers are Num. Throws SyntaxError.
 * @param {string} text
 */
export function parse(text) {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.space();
  if (reader.at !== text.length) throw new SyntaxError("more text after the value");
  return value;
}

class Reader {
  constructor(/** @type {string} */ text) {
    this.text = text;
    this.at = 0;
  }

  match(/** @type {RegExp} */ pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  space() {
    this.match(SPACE);
  }

  /**
   * @param {number} depth
   * @returns {any}
   */
  value(depth) {
    if (depth > DEEPEST) throw new SyntaxError("nested too deep");
    this.space();
    const first = this.text[this.at];
    if (first === "{") return this.object(depth);
    if (first === "[") return this.array(depth);
    if (first === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    const digits = this.match(NUMBER);
    if (!digits) throw new SyntaxError(`unexpected text at ${this.at}`);
    return new Num(digits);
  }

  string() {
    const found = this.match(STRING);
    if (found === undefined) throw new SyntaxError(`bad string at ${this.at}`);
    return JSON.parse(found);
  }

  object(/** @type {number} */ depth) {
    const entries = new Map();
    this.list("}", () => {
      const key = this.string();
      this.space();
      this.expect(":");
      entries.set(key, this.value(depth + 1));
    });
    return entries;
  }

  array(/** @type {number} */ depth) {
    /** @type {any[]} */
    const items = [];
    this.list("]", () => items.push(this.value(depth + 1)));
    return items;
  }

  list(/** @type {string} */ end, /** @type {() => void} */ item) {
    this.at += 1;
    this.space();
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      this.space();
      item();
      this.space();
      if (this.text[this.at] === end) break;
      this.expect(",");
    }
    this.at += 1;
  }

  expect(/** @type {string} */ letter) {
    if (this.text[this.at] !== letter) throw new SyntaxError(`expected ${letter} at ${this.at}`);
    this.at += 1;
  }
}
