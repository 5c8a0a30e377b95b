// What the server tells the page: addresses, grants, first data.
/** @type {PageData} */
export const page = JSON.parse(document.getElementById("page-data")?.textContent ?? "{}");
export const language = document.documentElement.lang || "en";

/** The address of a topic's page, or of one of its tabs. */
export const topicAddress = (/** @type {string} */ name, tab = "") =>
  `${page.root}topics/${encodeURIComponent(name)}/${tab ? `${tab}/` : ""}`;
