// Numbers and ranges of slots as people type them: "0-7,12".

/** The numbers; an empty list for none given. Throws where it is no such list. */
export function slotNumbers(/** @type {string} */ text) {
  /** @type {number[]} */
  const found = [];
  for (const part of text.split(",").map((each) => each.trim())) {
    if (!part) continue;
    const [, low, high] = /^(\d{1,4})(?:\s*-\s*(\d{1,4}))?$/.exec(part) ?? [];
    if (low === undefined || Number(high ?? low) < Number(low)) throw new Error(part);
    for (let slot = Number(low); slot <= Number(high ?? low); slot += 1) found.push(slot);
  }
  return found;
}
