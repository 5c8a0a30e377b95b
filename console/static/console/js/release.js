// Says when the page in this tab is of another release than the server: after an upgrade, or because the files were
// replaced below a running console. A classic script, for then the page's modules may not even start.
(() => {
  const gettext = window.gettext ?? ((/** @type {string} */ text) => text); // the texts may be what is missing
  const EVERY_MS = 30_000;
  const STUCK_EVERY_MS = 3_000;
  const texts = {
    upgraded: gettext("The console was upgraded since this page was opened: reload it to go on."),
    stuck: gettext(
      "This page could not start. The console's files may have been replaced while it runs: reload the page, and if that does not help, restart the console.",
    ),
    reload: gettext("Reload"),
  };
  /** @type {{ api: string, release: string } | null} */
  let page = null;
  /** @type {HTMLElement | null} */
  let banner = null;
  let failed = false;
  let timer = 0;

  // Also of scripts that are not there: those do not bubble.
  addEventListener("error", broken, true);
  addEventListener("unhandledrejection", broken);
  // The connection is back: perhaps after a restart.
  addEventListener("rc-back", look);
  document.addEventListener("visibilitychange", () => document.hidden || look());
  document.addEventListener("DOMContentLoaded", () => {
    page = JSON.parse(document.getElementById("page-data")?.textContent ?? "null");
    if (!page?.release) return;
    plan();
    if (failed) setTimeout(check);
  });

  function broken() {
    failed = true;
    setTimeout(check);
  }

  /** Whether the page has nothing to show but what the server wrote for browsers without JavaScript. */
  function check() {
    const place = document.getElementById("rc-page");
    const empty = place && [...place.children].every((each) => each.tagName === "NOSCRIPT");
    if (!page?.release || !failed || !empty) return;
    show(texts.stuck);
    plan(STUCK_EVERY_MS);
  }

  function plan(everyMs = EVERY_MS) {
    clearInterval(timer);
    timer = setInterval(() => document.hidden || look(), everyMs);
  }

  async function look() {
    if (!page?.release) return;
    try {
      const answer = await fetch(`${page.api}health/live`, { cache: "no-store" });
      const { release } = await answer.json();
      if (release && release !== page.release) show(texts.upgraded);
    } catch {
      // The server is away: the page says so where it matters.
    }
  }

  function show(/** @type {string} */ words) {
    if (!banner) {
      banner = document.createElement("div");
      banner.id = "rc-release";
      banner.className = "rc-banner";
      banner.setAttribute("role", "alert");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "rc-button rc-small";
      button.textContent = texts.reload;
      button.addEventListener("click", () => location.reload());
      const icon = document.createElement("span");
      icon.className = "material-symbols-outlined";
      icon.setAttribute("aria-hidden", "true");
      icon.textContent = "refresh";
      banner.append(icon, document.createElement("span"), button);
      document.getElementById("rc-page")?.before(banner);
    }
    banner.children[1].textContent = words;
  }
})();
