// Of a long table only the rows on the screen exist; what is above and below them is empty room of the same height.
import { focusedElement, h } from "../core/dom.js";

/** @typedef {{ key: string, sort: string, [more: string]: any }} Item */
/** @typedef {{ element: HTMLTableRowElement, update: (item: any) => void }} Drawn */

const BEYOND = 400; // px above and below the screen that are built, so that scrolling and Tab find them there
const NEIGHBOURS = 3; // of the row that has the focus
const GUESS = 48; // px of a row nobody has measured

export class WindowedRows {
  /** `build(item)` makes `{element, update(item)}`; items have a `key` of their own, and a `sort`: a row that is no longer
      shown serves for another item of its sort.*/
  constructor(/** @type {HTMLElement} */ body, /** @type {(item: any) => Drawn} */ build) {
    this.body = body;
    this.build = build;
    this.first = 0;
    this.last = 0;
    /** By their sort. @type {Map<string | undefined, Drawn[]>} */
    this.spare = new Map();
    /** @type {Item[]} */
    this.items = [];
    /** Those that are shown, by the keys of their items. @type {Map<string, Drawn>} */
    this.rows = new Map();
    this.heights = new Map();
    this.place = { top: 0, height: innerHeight };
    this.everything = false;
    this.observer = new ResizeObserver((entries) => this.measured(entries));
    // Before the next key: somebody may press Tab faster than the page is drawn.
    body.addEventListener("focusin", () => this.draw());
    addEventListener("scroll", () => this.soon(), { passive: true });
    addEventListener("resize", () => this.heights.clear());
    // On paper there is no scrolling.
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  print(/** @type {boolean} */ everything) {
    this.everything = everything;
    this.draw();
  }

  /** Where the table is. To be called before anything of the page is changed. */
  look() {
    this.place = { top: this.body.getBoundingClientRect().top, height: innerHeight };
  }

  show(/** @type {Item[]} */ items) {
    this.items = items;
    this.draw();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.look();
      const { first, last } = this.range();
      if (first !== this.first || last !== this.last) this.draw();
    });
  }

  /** Rows may be of different heights; each is known once it was shown. */
  measured(/** @type {ResizeObserverEntry[]} */ entries) {
    for (const { target, borderBoxSize } of entries) {
      if (target.isConnected)
        this.heights.set(/** @type {HTMLElement} */ (target).dataset.key, borderBoxSize[0].blockSize);
    }
  }

  range() {
    if (this.everything) return { first: 0, last: this.items.length };
    const from = -this.place.top - BEYOND;
    const to = -this.place.top + this.place.height + BEYOND;
    const usual = this.usual();
    let [at, first] = [0, 0];
    while (first < this.items.length && at + this.height(first, usual) < from) at += this.height(first++, usual);
    let last = first;
    while (last < this.items.length && at < to) at += this.height(last++, usual);
    return { first, last };
  }

  usual() {
    let sum = 0;
    for (const height of this.heights.values()) sum += height;
    return this.heights.size ? sum / this.heights.size : GUESS;
  }

  height(/** @type {number} */ index, /** @type {number} */ usual) {
    return this.heights.get(this.items[index].key) ?? usual;
  }

  draw() {
    if (this.drawing) return; // giving the focus back is no new focus
    this.drawing = true;
    this.drawNow();
    this.drawing = false;
  }

  drawNow() {
    const { first, last } = this.range();
    this.first = first;
    this.last = last;
    const focused = this.body.contains(document.activeElement) ? focusedElement() : null;
    const held = focused?.closest("tr")?.dataset.key;
    const usual = this.usual();
    // What somebody has the focus in stays, wherever they have scrolled to, and so do its neighbours, for Tab.
    const at = held === undefined ? -1 : this.items.findIndex((item) => item.key === held);
    const near = (/** @type {number} */ index) => at >= 0 && Math.abs(index - at) <= NEIGHBOURS;
    const shown = this.items.flatMap((item, index) =>
      (index >= first && index < last) || near(index) ? [{ item, index }] : [],
    );
    this.leave(new Set(shown.map(({ item }) => item.key)));
    /** @type {HTMLElement[]} */
    const wanted = [];
    let next = 0;
    const roomBefore = (/** @type {number} */ index) => {
      let gap = 0;
      for (; next < index; next += 1) gap += this.height(next, usual);
      if (gap) wanted.push(this.room(gap));
      next = index + 1;
    };
    for (const { item, index } of shown) {
      roomBefore(index);
      const row = this.rows.get(item.key) ?? this.enter(item);
      row.element.setAttribute("aria-rowindex", String(index + 2));
      row.update(item);
      wanted.push(row.element);
    }
    roomBefore(this.items.length);
    this.arrange(wanted);
    // Moving a row takes the focus from what is in it.
    if (focused && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  /** Rows whose items are not shown any more are spare. */
  leave(/** @type {Set<string>} */ staying) {
    for (const [key, row] of this.rows) {
      if (staying.has(key)) continue;
      this.rows.delete(key);
      const sort = row.element.dataset.sort;
      this.spare.set(sort, [...(this.spare.get(sort) ?? []), row]);
    }
  }

  enter(/** @type {Item} */ item) {
    let row = this.spare.get(item.sort)?.pop();
    if (!row) {
      row = this.build(item);
      row.element.dataset.sort = item.sort;
      this.observer.observe(row.element);
    }
    row.element.dataset.key = item.key;
    this.rows.set(item.key, row);
    return row;
  }

  room(/** @type {number} */ height) {
    const cell = h("td");
    cell.style.height = `${height}px`;
    return h("tr", { class: "rc-gap", "aria-hidden": "true" }, cell);
  }

  arrange(/** @type {HTMLElement[]} */ wanted) {
    const staying = new Set(wanted);
    for (const element of [...this.body.children])
      if (!staying.has(/** @type {HTMLElement} */ (element))) element.remove();
    /** @type {ChildNode | null} */
    let next = this.body.firstChild;
    for (const element of wanted) {
      if (next && element === next) next = next.nextSibling;
      else this.body.insertBefore(element, next);
    }
  }
}
