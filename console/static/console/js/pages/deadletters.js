// Dead letters of all topics, by cluster.
import { byId, h, replace } from "../core/dom.js";
import { count } from "../core/format.js";
import "../core/keys.js";
import { gettext } from "../core/text.js";
import { Clusters } from "../messages/deadclusters.js";
import { Tile, tileRow } from "../parts/tiles.js";

const tiles = [
  new Tile(gettext("Dead letters"), (found) => [count(found.dead)]),
  new Tile(gettext("Clusters"), (found) => [count(found.clusters.length + found.left_out)]),
  new Tile(gettext("Topics"), (found) => [count(found.topics)]),
];
const clusters = new Clusters(null, (found) => {
  for (const tile of tiles) tile.update(found);
});
const row = tileRow(tiles);
row.classList.add("rc-spread");

replace(
  byId("rc-page"),
  h(
    "div",
    { class: "rc-head" },
    h(
      "p",
      { class: "rc-muted" },
      gettext("What failed for good, by error: numbers, ids and addresses inside a text do not split a cluster."),
    ),
  ),
  row,
  clusters.element,
);
