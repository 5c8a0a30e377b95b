// Building pages out of text. Nothing here ever parses markup, so content cannot become code.

/** An element: h("td", { class: "rc-num", title }, "text", otherElement, …). `on…` attributes are listeners. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A symbol of Unfold's icon font; decoration only. */
export function icon(name) {
  return h("span", { class: "material-symbols-outlined", "aria-hidden": "true" }, name);
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set text only when it differs: cheap to call every second. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setTitle(element, text) {
  if (element.title !== text) element.title = text;
}

export function setClass(element, name, on) {
  if (element.classList.contains(name) !== Boolean(on)) element.classList.toggle(name, Boolean(on));
}

export const byId = (id) => document.getElementById(id);
