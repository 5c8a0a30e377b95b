// Unfold's layout by keyboard: what only answers to clicks there becomes a button that Tab finds and Enter and Space press.
// A classic script, since the layout of the admin's pages has no modules.
(() => {
  /** @type {Record<string, string>} */
  const LABELS = {
    dock_to_right: gettext("Show or hide the sidebar"),
    close: gettext("Close the sidebar"),
    search: gettext("Search"),
  };
  /** @type {[string, string][]} */
  const BOXES = [
    ["#changelist-filter", gettext("Filters of the list")],
    ["#changelist", gettext("Rows of the list")],
  ];
  const ACTS = "[x-on\\:click]";
  const NATIVE = "a[href], button, input, select, textarea, summary, label";
  const FOCUSABLE = "a[href], button, input:not([type=hidden]), [tabindex='0']";

  document.addEventListener("DOMContentLoaded", () => {
    for (const element of document.querySelectorAll(`#page ${ACTS}`)) asButton(/** @type {HTMLElement} */ (element));
    userMenu();
    skipLink();
    unspoken(document);
    // The layout names no landmark that one could jump to.
    document.getElementById("main")?.setAttribute("role", "main");
  });

  // What the command palette finds comes later.
  document.addEventListener("htmx:afterSettle", (event) => unspoken(/** @type {HTMLElement} */ (event.target)));

  // Paper is white, and browsers leave backgrounds out: light words of a dark page could not be read there.
  const root = document.documentElement;
  addEventListener("beforeprint", () => {
    if (!root.classList.contains("dark")) return;
    root.classList.remove("dark");
    addEventListener("afterprint", () => root.classList.add("dark"), { once: true });
  });

  // A key that is held repeats itself: it does not press what its first press has brought, as the last button of a dialog.
  addEventListener("keydown", held, true);

  // The layout's own scroll boxes name themselves in English, when they are made, and all by the same name.
  addEventListener("load", () => {
    for (const box of document.querySelectorAll(".simplebar-content-wrapper"))
      box.setAttribute("aria-label", BOXES.find(([place]) => box.closest(place))?.[1] ?? gettext("Scrollable content"));
  });

  function held(/** @type {KeyboardEvent} */ event) {
    const { tagName, isContentEditable } = /** @type {HTMLElement} */ (event.target);
    if (event.repeat && event.key === "Enter" && tagName !== "TEXTAREA" && !isContentEditable) event.preventDefault();
  }

  function asButton(/** @type {HTMLElement} */ element) {
    if (element.matches(NATIVE) || element.querySelector(NATIVE) || element.hasAttribute("tabindex")) return;
    element.setAttribute("role", "button");
    element.tabIndex = 0;
    const label = LABELS[element.textContent?.trim() ?? ""];
    if (label) {
      element.setAttribute("aria-label", label);
      element.title = label;
    }
    element.addEventListener("keydown", (event) => {
      if (event.target !== element || (event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      element.click();
    });
  }

  /** A symbol is an English word that a font draws: who listens is told what stands beside it, or its title. */
  function unspoken(/** @type {Document | HTMLElement} */ place) {
    for (const symbol of place.querySelectorAll(".material-symbols-outlined:not([aria-hidden])")) {
      const pressed = symbol.closest("a, button, [role=button]");
      if (pressed === symbol) continue; // a button itself, with a name of its own
      if (!pressed) sayTitle(symbol.parentElement, symbol);
      else if (isAlone(pressed, symbol) && !pressed.ariaLabel && !(/** @type {HTMLElement} */ (pressed).title)) {
        const label = LABELS[symbol.textContent?.trim() ?? ""];
        if (isTwice(pressed)) hide(/** @type {HTMLElement} */ (pressed));
        else if (label) pressed.ariaLabel = label;
        else continue; // it has no other name
      }
      symbol.setAttribute("aria-hidden", "true");
    }
  }

  function hide(/** @type {HTMLElement} */ link) {
    link.setAttribute("aria-hidden", "true");
    link.tabIndex = -1;
  }

  const isAlone = (/** @type {Element} */ place, /** @type {Element} */ symbol) =>
    place.textContent?.trim() === symbol.textContent?.trim();

  /** Whether the link beside it leads to the same, as that of the layout's sign and of its name. */
  const isTwice = (/** @type {Element} */ link) =>
    link.hasAttribute("href") &&
    link.getAttribute("href") === link.nextElementSibling?.querySelector("a")?.getAttribute("href");

  /** Yes and no of the admin's lists are symbols alone. */
  function sayTitle(/** @type {HTMLElement | null} */ box, /** @type {Element} */ symbol) {
    if (!box?.title || !isAlone(box, symbol)) return;
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", box.title);
  }

  /** The first stop of the Tab key: from there to what the page is about. The address stays: it says what is seen. */
  function skipLink() {
    const content = document.getElementById("content");
    if (!content) return;
    content.tabIndex = -1;
    const link = document.createElement("a");
    link.href = "#content";
    link.className = "rc-skip";
    link.textContent = gettext("Skip to the content");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      content.focus();
    });
    document.body.prepend(link);
  }

  /** Theme, language and leaving: the menu stands before its button in the page, so the focus is taken there and back. */
  function userMenu() {
    const box = /** @type {any} */ (document).querySelector("#nav-sidebar [x-data*=openUserLinks]");
    const button = box?.querySelector(":scope > [role=button]");
    const menu = box?.querySelector(":scope > nav");
    if (!button || !menu) return;
    const name = button.querySelector(".truncate")?.textContent.trim() ?? "";
    button.setAttribute(
      "aria-label",
      interpolate(gettext("Account of %(name)s: theme, language, log out"), { name }, true),
    );
    button.setAttribute("aria-haspopup", "true");
    button.setAttribute("aria-expanded", "false");
    menu.setAttribute("aria-label", gettext("Account"));
    const shown = () => menu.checkVisibility();
    let byKey = false;
    button.addEventListener("keydown", () => {
      byKey = true;
    });
    button.addEventListener("pointerdown", () => {
      byKey = false;
    });
    new MutationObserver(() => {
      const open = shown();
      if (String(open) === button.getAttribute("aria-expanded")) return;
      button.setAttribute("aria-expanded", String(open));
      if (open && byKey) menu.querySelector(FOCUSABLE)?.focus();
    }).observe(menu, { attributes: true, attributeFilter: ["style"] });
    box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !shown()) return;
      button.click();
      button.focus();
    });
    box.addEventListener("focusout", (/** @type {FocusEvent} */ event) => {
      if (shown() && event.relatedTarget && !box.contains(event.relatedTarget)) button.click();
    });
  }
})();
