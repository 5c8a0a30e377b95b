// The state of a view lives in the address, so that it can be kept, shared and reloaded.

export function param(/** @type {string} */ name, fallback = "") {
  return new URLSearchParams(location.search).get(name) ?? fallback;
}

/** Write values into the address; an empty one, or its default, leaves it. */
export function setParams(
  /** @type {Record<string, any>} */ values,
  defaults = /** @type {Record<string, any>} */ ({}),
) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined || value === defaults[name])
      url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  history.replaceState(history.state, "", url);
}
