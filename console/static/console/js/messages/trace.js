// The trace that a message belongs to, out of its header `traceparent` (W3C Trace Context).
import { h } from "../core/dom.js";
import { page } from "../core/page.js";

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/**
 * Its id, as a link where the console was told of one; null: it belongs to none, or that is hidden.
 * @param {Record<string, string> | null} headers
 */
export function traceView(headers) {
  const found = TRACEPARENT.exec(headers?.traceparent ?? "");
  if (!found || /^0+$/.test(found[1])) return null;
  const id = h("span", { class: "rc-mono" }, found[1]);
  if (!page.trace_link) return id;
  const href = page.trace_link.replaceAll("{trace_id}", found[1]);
  return h("a", { class: "rc-link", href, target: "_blank", rel: "noopener noreferrer" }, id);
}
