// Colours of the current theme, for canvases; they are drawn again when it changes.

const listeners = new Set();

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function onThemeChange(listener) {
  listeners.add(listener);
}

new MutationObserver(() => listeners.forEach((listener) => listener())).observe(document.documentElement, {
  attributes: true,
  attributeFilter: ["class"],
});
