// By which way somebody acted.
import { gettext } from "../core/text.js";

/** @type {Record<string, string>} */
const WAYS = {
  page: gettext("pages"),
  rest: gettext("API token"),
  admin: gettext("admin forms"),
  schedule: gettext("schedule"),
  command: gettext("command line"),
  sso: gettext("single sign-on"),
};

export const viaWords = (/** @type {string} */ via) => WAYS[via] ?? via;
