// What findings of one kind have in common, in words.
import { gettext } from "../core/text.js";
import { inWords, shown } from "./evidence.js";
import { GAPS } from "./runwords.js";

/** @type {Record<string, string>} */
const ALONE = {
  with_server: gettext("Lost with the server"),
  counters: gettext("Its counters are not what its journal tells"),
};

/** @type {Record<string, string>} */
const BEFORE = {
  what: gettext("Differs"),
  missing: gettext("Missing"),
  extra: gettext("Too many"),
  event: gettext("Event"),
  last_event: gettext("Last event"),
};

/** Of a cause as the API has it: `with_server`, or `what:due_ms,priority`. */
export function causeWords(/** @type {string} */ cause) {
  const at = cause.indexOf(":");
  if (at < 0) return inWords(ALONE, cause);
  const [name, values] = [cause.slice(0, at), cause.slice(at + 1)];
  if (name === "reason") return inWords(GAPS, values).split(/[.:。：]/u, 1)[0] ?? values;
  return `${inWords(BEFORE, name)}: ${shown(name, name.endsWith("event") ? values : values.split(","))}`;
}
