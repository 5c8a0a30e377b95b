// Colours and sizes of the current theme, for canvases; they are drawn again when it changes.

const listeners = new Set();
const known = new Map();

/** A custom property of the page. Asked of the browser once: to ask it between two changes makes it lay out again. */
export function color(/** @type {string} */ name) {
  if (!known.has(name)) known.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return known.get(name);
}

/** A length in CSS pixels out of tokens.css; 0 where what it is for is not shown. */
export const pixels = (/** @type {string} */ name) => Number.parseFloat(color(name)) || 0;

export function onThemeChange(/** @type {() => void} */ listener) {
  listeners.add(listener);
}

// First of all listeners, since whoever draws imports this: another width may mean other lengths.
addEventListener("resize", () => known.clear());
new MutationObserver(() => {
  known.clear();
  for (const listener of listeners) listener();
}).observe(document.documentElement, {
  attributes: true,
  attributeFilter: ["class"],
});
