// The figures of a run of the pipeline, a row for each topic.
import { h, headRow, topicName } from "../core/dom.js";
import { duration, exact, NONE } from "../core/format.js";
import { topicAddress } from "../core/page.js";
import { gettext } from "../core/text.js";

export function figuresTable(/** @type {Api.Detail["tables"]} */ tables) {
  const ms = (/** @type {number | null | undefined} */ value) =>
    value === null || value === undefined ? NONE : duration(value);
  /** @type {[string, (row: any) => any][]} */
  const columns = [
    [gettext("Sent"), (row) => exact(row.sent)],
    [gettext("Done"), (row) => exact(row.acked)],
    [gettext("Merged"), (row) => exact(row.merged)],
    [gettext("Retries"), (row) => exact(row.retried)],
    [gettext("Died"), (row) => exact(row.died)],
    [gettext("Lateness p99"), (row) => ms(row.lateness_p99_ms)],
    [gettext("End to end p99"), (row) => ms(row.end_to_end_p99_ms)],
    [gettext("Slot skew"), (row) => (row.slot_skew ? `× ${Math.round(row.slot_skew * 100) / 100}` : NONE)],
    [gettext("Causes of death"), causes],
  ];
  return h(
    "div",
    { class: "rc-scroll" },
    h(
      "table",
      { class: "rc-table" },
      headRow([gettext("Topic"), ...columns.map(([title]) => title)]),
      h(
        "tbody",
        {},
        tables.map((row) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("a", { href: topicAddress(row.topic) }, topicName(row.topic))),
            columns.map(([, value]) => h("td", {}, value(row))),
          ),
        ),
      ),
    ),
  );
}

function causes(/** @type {Record<string, any>} */ row) {
  let list = [];
  try {
    list = JSON.parse(row.causes ?? "[]") ?? [];
  } catch {
    return NONE;
  }
  return list.length
    ? list
        .slice(0, 3)
        .map((/** @type {any} */ each) => h("div", {}, `${exact(each.n)} × ${each.error ?? each.fingerprint}`))
    : NONE;
}
