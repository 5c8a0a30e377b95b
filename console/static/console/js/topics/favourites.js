// Favourite topics of whoever looks: a star, here and in the table of topics.
import { ofTopic, once } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";

const starred = new Set(page.favourites ?? []);

export const isFavourite = (/** @type {string} */ topic) => starred.has(topic);

export const anyFavourites = () => starred.size > 0;

/** A button for one topic after another: `show(topic)` says for which; `changed()` after a click. */
export class Star {
  constructor(/** @type {() => void} */ changed = () => {}) {
    this.topic = "";
    this.changed = changed;
    this.element = h(
      "button",
      { type: "button", class: "rc-icon-button rc-star", onclick: () => this.toggle() },
      icon("star"),
    );
  }

  show(/** @type {string} */ topic) {
    this.topic = topic;
    const on = isFavourite(topic);
    this.element.setAttribute("aria-pressed", String(on));
    const words = fill(gettext("Favourite: %(topic)s"), { topic });
    this.element.setAttribute("aria-label", words);
    this.element.title = on ? gettext("A favourite of yours") : gettext("Make it a favourite");
    return this.element;
  }

  async toggle() {
    const topic = this.topic;
    try {
      const path = ofTopic(topic).replace("topics/", "favourites/");
      /** @type {Api.Favourites} */
      const { topics } = await once(isFavourite(topic) ? "DELETE" : "PUT", path, {}, undefined, {});
      starred.clear();
      for (const each of topics) starred.add(each);
    } catch (problem) {
      toast(messageOf(problem), "error");
    }
    this.show(this.topic);
    this.changed();
  }
}
