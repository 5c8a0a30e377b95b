// A form of the administration is sent once whoever typed it is known to be signed in: else it would be lost. Who has
// signed in again, in another tab, goes on here. A classic script, as those that Unfold loads.
(() => {
  const FORMS = 'form[method="post"]:is([id$="_form"], .rc-admin-form)';
  const PATIENCE_MS = 15_000;
  const gettext = window.gettext ?? ((/** @type {string} */ text) => text);
  const texts = {
    lost: gettext("The server cannot be reached."),
    out: gettext("You are signed out. Sign in in another tab, then go on here."),
    another: gettext("This page is older than your sign-in. Nothing was done: reload it and try again."),
  };
  /** @type {WeakSet<HTMLFormElement>} */
  const asking = new WeakSet();
  /** @type {WeakSet<HTMLFormElement>} */
  const sure = new WeakSet();
  /** @type {HTMLElement | null} */
  let said = null;

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.matches(FORMS) || event.defaultPrevented) return;
    if (sure.delete(form)) return;
    event.preventDefault();
    if (asking.has(form)) return;
    asking.add(form);
    said?.remove();
    send(form, event.submitter).finally(() => asking.delete(form));
  });

  async function send(/** @type {HTMLFormElement} */ form, /** @type {HTMLElement | null} */ button) {
    const now = await anew();
    const [before, who] = [document, now].map((each) => (each ? nameIn(each) : ""));
    if (!now) return say(texts.lost);
    if (!who) return say(texts.out);
    if (who !== before) return say(texts.another);
    const [ours, theirs] = [form, now].map((each) => each.querySelector("input[name=csrfmiddlewaretoken]"));
    if (ours && theirs) ours.setAttribute("value", theirs.getAttribute("value") ?? "");
    sure.add(form);
    form.requestSubmit(button);
  }

  /** This page as it is now; null: nobody answers. */
  async function anew() {
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store", signal });
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      return null;
    }
  }

  /** Who is signed in, by the words of the menu. */
  const nameIn = (/** @type {Document} */ page) =>
    page.querySelector("#nav-sidebar [x-data*=openUserLinks] .truncate")?.textContent.trim() ?? "";

  function say(/** @type {string} */ words) {
    said = document.createElement("div");
    said.className = "rc-toasts rc-toasts-above"; // the buttons stand at the bottom
    said.setAttribute("role", "alert");
    const box = document.createElement("div");
    box.className = "rc-toast rc-toast-error";
    box.textContent = words;
    said.append(box);
    document.body.append(said);
  }
})();
