// Translations, from the catalogue the page loads (texts.js).
export const gettext = window.gettext;
export const ngettext = window.ngettext;

/**
 * Fill %(name)s in a translated sentence.
 * @param {string} sentence
 * @param {object} values
 */
export function fill(sentence, values) {
  return window.interpolate(sentence, values, true);
}

/** What an error says. */
export const messageOf = (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error));
