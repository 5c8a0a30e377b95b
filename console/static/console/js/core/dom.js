// Building pages out of text. Nothing here ever parses markup, so content cannot become code.

/** What turns the direction of the text around it, so that it reads as something else. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** A text with such characters spelled out; whatever else is a child as it is. @template Child */
export const spelled = (/** @type {Child} */ child) =>
  typeof child === "string" ? child.replace(TURNING, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`) : child;

const present = (/** @type {any[]} */ children) =>
  children
    .flat(2)
    .filter((child) => child !== null && child !== undefined)
    .map(spelled);

/**
 * An element: h("td", { class: "rc-num", title }, "text", otherElement, …). `on…` attributes are listeners.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} attributes
 * @param {...any} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name in element && typeof value === "boolean") /** @type {any} */ (element)[name] = value;
    else if (name === "title") element.title = spelled(String(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...present(children));
  return element;
}

/** The name of a topic or a group, which may break behind its @, before it breaks anywhere. */
export const topicName = (/** @type {string} */ name) =>
  name.split("@").flatMap((part, at) => (at ? ["@", h("wbr"), part] : [part]));

/** The head of a table; each title as it is, or as [title, class]. */
export function headRow(/** @type {any[]} */ titles) {
  const heads = titles.map((each) => {
    const [title, extra] = [each].flat();
    return h("th", { scope: "col", class: extra }, title);
  });
  return h("thead", {}, h("tr", {}, heads));
}

/** A symbol of Unfold's icon font; decoration only. */
export function icon(/** @type {string | undefined} */ name) {
  return h("span", { class: "material-symbols-outlined", "aria-hidden": "true" }, name);
}

/**
 * @template {Element} Kind
 * @param {Kind} element
 * @param {...any} children
 */
export function replace(element, ...children) {
  element.replaceChildren(...present(children));
  return element;
}

/** Set text only when it differs: cheap to call every second. */
export function setText(/** @type {Node} */ element, /** @type {string} */ text) {
  const shown = spelled(text);
  if (element.textContent !== shown) element.textContent = shown;
}

export function setTitle(/** @type {HTMLElement} */ element, /** @type {string} */ text) {
  const shown = spelled(text);
  if (element.title !== shown) element.title = shown;
}

export function setClass(/** @type {Element} */ element, /** @type {string} */ name, /** @type {unknown} */ on) {
  if (element.classList.contains(name) !== Boolean(on)) element.classList.toggle(name, Boolean(on));
}

/** An element of the page's template; the page is wrong without it. */
export const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Of a group of buttons, each with its value in `data-name`, the pressed one. */
export function press(/** @type {Element} */ group, /** @type {string} */ name) {
  for (const button of all(group, ":scope > *"))
    button.setAttribute("aria-pressed", String(button.dataset.name === name));
}

/**
 * What a selector finds in an element.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {ParentNode} element
 * @param {string} selector
 * @returns {Kind[]}
 */
export const all = (element, selector) => [.../** @type {NodeListOf<Kind>} */ (element.querySelectorAll(selector))];

/** What has the focus. */
export const focusedElement = () => /** @type {HTMLElement} */ (document.activeElement);

/** New rows of a table; where the focus was in one with the same `data-key`, it stays. */
export function refill(/** @type {HTMLElement} */ body, /** @type {HTMLElement[]} */ rows) {
  const key = body.contains(document.activeElement) ? focusedElement().dataset.key : null;
  replace(body, rows);
  if (key)
    all(body, "[data-key]")
      .find((each) => each.dataset.key === key)
      ?.focus();
}
