// The Dead letters tab of a stream: what died, by group and error. The entries stay; each group has its own.
import { byId, h, replace } from "../core/dom.js";
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";
import { Clusters } from "../messages/deadclusters.js";

export class GroupsDeadTab {
  constructor() {
    replace(
      byId("rc-tab"),
      h(
        "p",
        { class: "rc-muted" },
        gettext("A dead letter belongs to one group: requeueing it brings it to that group alone."),
      ),
      new Clusters(page.topic, undefined, true).element,
    );
  }

  take() {}

  render() {}
}
