// Of a long table only the rows on the screen exist; what is above and below them is empty room of the same height.
import { focusedElement, h } from "../core/dom.js";

const BEYOND = 400; // px above and below the screen that are built, so that scrolling and Tab find them there
const NEIGHBOURS = 3; // of the row that has the focus
const GUESS = 48; // px of a row nobody has measured

export class WindowedRows {
  /** `build(item)` makes `{element, update(item)}`; items have a `key` of their own, and a `sort`: a row that is no longer
      shown serves for another item of its sort.*/
  constructor(body, build) {
    this.body = body;
    this.build = build;
    this.first = 0;
    this.last = 0;
    this.spare = new Map();
    this.items = [];
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

  print(everything) {
    this.everything = everything;
    this.draw();
  }

  /** Where the table is. To be called before anything of the page is changed. */
  look() {
    this.place = { top: this.body.getBoundingClientRect().top, height: innerHeight };
  }

  show(items) {
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
  measured(entries) {
    for (const { target, borderBoxSize } of entries) {
      if (target.isConnected) this.heights.set(target.dataset.key, borderBoxSize[0].blockSize);
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

  height(index, usual) {
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
    const near = (index) => at >= 0 && Math.abs(index - at) <= NEIGHBOURS;
    const shown = this.items.flatMap((item, index) =>
      (index >= first && index < last) || near(index) ? [[item, index]] : [],
    );
    this.leave(new Set(shown.map(([item]) => item.key)));
    const wanted = [];
    let next = 0;
    for (const [item, index] of [...shown, [null, this.items.length]]) {
      let gap = 0;
      for (; next < index; next += 1) gap += this.height(next, usual);
      if (gap) wanted.push(this.room(gap));
      next = index + 1;
      if (!item) break;
      const row = this.rows.get(item.key) ?? this.enter(item);
      row.element.setAttribute("aria-rowindex", index + 2);
      row.update(item);
      wanted.push(row.element);
    }
    this.arrange(wanted);
    // Moving a row takes the focus from what is in it.
    if (focused && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  /** Rows whose items are not shown any more are spare. */
  leave(staying) {
    for (const [key, row] of this.rows) {
      if (staying.has(key)) continue;
      this.rows.delete(key);
      const sort = row.element.dataset.sort;
      this.spare.set(sort, [...(this.spare.get(sort) ?? []), row]);
    }
  }

  enter(item) {
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

  room(height) {
    const cell = h("td");
    cell.style.height = `${height}px`;
    return h("tr", { class: "rc-gap", "aria-hidden": "true" }, cell);
  }

  arrange(wanted) {
    const staying = new Set(wanted);
    for (const element of [...this.body.children]) if (!staying.has(element)) element.remove();
    let next = this.body.firstChild;
    for (const element of wanted) {
      if (element === next) next = next.nextSibling;
      else this.body.insertBefore(element, next);
    }
  }
}
