// Rows of tenants that stay where they are while their figures change, so that a button can be pressed.
import { focusedElement, h, replace, setText } from "../core/dom.js";

/**
 * `label`: what stands there instead of a name.
 * @typedef {{ tenant: string, label?: string, words: string[], button: () => HTMLElement | null }} TenantRow
 */
/** @typedef {{ element: HTMLElement, cells: HTMLElement[] }} Drawn */

/** The body of a table: the name, then a cell for each class, then a button. */
export class TenantRows {
  /**
   * `empty`: what the only row says where there are none.
   * @param {string[]} classes
   * @param {string} empty
   */
  constructor(classes, empty) {
    this.classes = classes;
    this.empty = empty;
    /** @type {Map<string, Drawn>} */
    this.drawn = new Map();
    this.keys = "";
    this.element = h("tbody");
  }

  show(/** @type {TenantRow[]} */ rows) {
    const before = this.drawn;
    this.drawn = new Map(rows.map((row) => [row.tenant, before.get(row.tenant) ?? this.build(row)]));
    for (const { tenant, words } of rows)
      words.forEach((text, n) => {
        setText(/** @type {Drawn} */ (this.drawn.get(tenant)).cells[n], text);
      });
    const keys = JSON.stringify([...this.drawn.keys()]);
    if (keys === this.keys) return;
    this.keys = keys;
    const focused = focusedElement();
    const wide = this.classes.length + 2;
    replace(
      this.element,
      rows.length
        ? [...this.drawn.values()].map((each) => each.element)
        : h("tr", {}, h("td", { class: "rc-muted", colspan: wide }, this.empty)),
    );
    if (focused.isConnected) focused.focus({ preventScroll: true });
  }

  build(/** @type {TenantRow} */ { tenant, label, button }) {
    const cells = this.classes.map((each) => h("td", { class: each }));
    const name = label ? h("td", { class: "rc-muted" }, label) : nameCell(tenant);
    return { element: h("tr", {}, name, cells, h("td", {}, button())), cells };
  }
}

/** A name that begins or ends with a space is in quotes, or it would look like another one. */
function nameCell(/** @type {string} */ tenant) {
  const shown = tenant === tenant.trim() ? tenant : `“${tenant}”`;
  return h("td", { class: "rc-mono rc-tenant" }, h("bdi", {}, shown));
}
