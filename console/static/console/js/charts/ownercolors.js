// A colour and a number for each owner, the same in every picture of a page, whoever comes and goes.
// Colours that people tell apart who see no red or no green; the number tells them apart whatever one sees.

/** Paul Tol's “bright”, which keep apart for every kind of colour blindness. */
const FIRST = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"];
const INK = ["#ffffff", "#000000", "#ffffff", "#000000", "#000000", "#ffffff"];
/** @type {Map<string, number>} */
const places = new Map();

/** Counted as they are first seen. */
export function ownerNumber(/** @type {string} */ name) {
  if (!places.has(name)) places.set(name, places.size);
  return /** @type {number} */ (places.get(name)) + 1;
}

export function ownerColor(/** @type {string} */ name) {
  const place = ownerNumber(name) - 1;
  // Of further ones neighbours differ in lightness, too.
  return FIRST[place] ?? `oklch(${[45, 70, 57][place % 3]}% 0.12 ${Math.round((place * 137.5) % 360)})`;
}

/** What can be read on that colour. */
export function ownerInk(/** @type {string} */ name) {
  const place = ownerNumber(name) - 1;
  return INK[place] ?? (place % 3 ? "#000000" : "#ffffff");
}
