// Dead letters as a file.
import { ofTopic } from "../core/api.js";
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";
import { downloadLinks } from "../parts/downloads.js";

/** Links to a topic's dead letters that a filter matches, or to all. */
export function exportMenu(/** @type {string} */ topic, /** @type {Record<string, any>} */ filter = {}) {
  const { state, ...query } = filter;
  const missing = page.grants.payload ? null : gettext("Reading content needs the permission “read_payload”.");
  return downloadLinks(ofTopic(topic, "/dead:export"), missing, query);
}
