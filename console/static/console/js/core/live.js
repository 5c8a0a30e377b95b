// Live data of a page: the socket, how old the data is, pausing, the banner.

import { serverNow } from "./clock.js";
import { byId, h, icon, replace, setClass, setText } from "./dom.js";
import { dateTime, duration, time } from "./format.js";
import { shortcut } from "./keys.js";
import { page } from "./page.js";
import { isPressed, released } from "./press.js";
import { Socket } from "./socket.js";
import { fill, gettext } from "./text.js";

const STALE_MS = 5000;
/** What nobody looked at is sampled seldom; whoever opens a page has something new by then. */
const OPENING_MS = 3000;

export class Live {
  /**
   * `take(message)` gets every message, also while paused; `render()` draws, at most once a frame, not while paused.
   * @param {string | null} path
   * @param {(message: any) => void} take
   * @param {() => void} render
   */
  constructor(path, take, render) {
    this.take = take;
    this.render = render;
    this.state = "connecting";
    this.paused = false;
    this.atMs = 0;
    this.shownMs = 0;
    this.receivedAt = 0;
    this.intervalMs = page.interval_ms;
    this.greeted = false;
    this.nextTry = 0;
    /** The moment that is shown instead of now, and what leads back. @type {{ at: number, back: () => void } | null} */
    this.replay = null;
    /** Why the page shows nothing new any more: words, and a button. @type {any[] | null} */
    this.gone = null;
    this.dot = h("span", { class: "rc-dot", "aria-hidden": "true" });
    this.word = h("span", { class: "rc-status-word" });
    this.asOf = h("span", { class: "rc-as-of" });
    this.symbol = icon("pause");
    this.button = h(
      "button",
      { type: "button", class: "rc-icon-button", title: "r", onclick: () => this.toggle() },
      this.symbol,
    );
    const place = byId("rc-status");
    if (place) replace(place, this.dot, this.word, this.asOf, this.button);
    this.socket = path
      ? new Socket(
          path,
          (message) => this.receive(message),
          (state, next) => this.changed(state, next),
        )
      : null;
    setInterval(() => this.look(), 500);
    shortcut("r", gettext("Pause or resume live updates"), () => this.toggle());
    document.addEventListener("visibilitychange", () => document.hidden || this.draw());
  }

  /** The server's clock, as far as we know it. */
  nowMs() {
    return this.atMs ? this.atMs + (Date.now() - this.receivedAt) : serverNow();
  }

  receive(/** @type {any} */ message) {
    if (message.at_ms && message.interval_ms) this.date(message);
    this.take(message);
    this.draw();
  }

  /** How old a frame is: what is pushed is new; the first one of a page or of a connection may have lain there. */
  date(/** @type {{ at_ms: number, interval_ms: number }} */ { at_ms, interval_ms }) {
    if (at_ms === this.atMs) return;
    const age = this.greeted ? 0 : Math.max(0, this.serverMs() - at_ms);
    this.greeted = this.state === "open";
    this.atMs = at_ms;
    this.receivedAt = Date.now() - age;
    this.intervalMs = interval_ms;
  }

  serverMs() {
    if (this.atMs) return this.nowMs();
    return page.now_ms ? page.now_ms + performance.now() : 0;
  }

  draw() {
    if (this.paused || document.hidden || this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (isPressed()) return void released().then(() => this.draw());
      this.shownMs = this.atMs;
      this.render();
      this.look();
    });
  }

  toggle() {
    if (this.replay) return this.replay.back();
    this.paused = !this.paused;
    this.look();
    this.draw();
  }

  /**
   * @param {import("./socket.js").State} state
   * @param {number} [nextTry]
   */
  changed(state, nextTry) {
    if (state === "lost") this.wasLost = true;
    if (state === "open") this.wasLost = false;
    if (state !== "open") this.greeted = false;
    this.state = state;
    this.nextTry = nextTry ?? 0;
    this.look();
  }

  stale() {
    return this.old() && performance.now() > OPENING_MS;
  }

  old() {
    return this.atMs > 0 && Date.now() - this.receivedAt > Math.max(STALE_MS, 3 * this.intervalMs);
  }

  look() {
    // As long as a new connection brings nothing, the old one is lost.
    const lost = this.wasLost || !["open", "connecting"].includes(this.state);
    if (this.replay) return this.lookBack(this.replay.at);
    const old = lost || this.stale() || Boolean(this.gone);
    const word = this.paused
      ? gettext("Paused")
      : lost
        ? gettext("Not connected")
        : this.stale()
          ? gettext("Old data")
          : this.state === "connecting" || this.old()
            ? gettext("Connecting…")
            : gettext("Live");
    setText(this.word, this.gone && !lost ? gettext("Old data") : word);
    const isLive = this.state === "open" && !this.old();
    this.dot.dataset.state = this.paused ? "paused" : old ? "lost" : isLive ? "live" : "connecting";
    const as = fill(gettext("as of %(time)s"), { time: time(this.shownMs || this.atMs) });
    setText(this.asOf, this.atMs ? as : "");
    setText(this.symbol, this.paused ? "play_arrow" : "pause");
    this.button.setAttribute(
      "aria-label",
      this.paused ? gettext("Resume live updates") : gettext("Pause live updates"),
    );
    setClass(byId("rc-page"), "rc-stale", old && this.atMs);
    this.banner();
  }

  /** What is shown is of another time, and not old. */
  lookBack(/** @type {number} */ at) {
    setText(this.word, gettext("Replay"));
    this.dot.dataset.state = "paused";
    setText(this.asOf, fill(gettext("as of %(time)s"), { time: dateTime(at) }));
    setText(this.symbol, "play_arrow");
    this.button.setAttribute("aria-label", gettext("Back to now"));
    setClass(byId("rc-page"), "rc-stale", false);
    this.banner();
  }

  banner() {
    if (isPressed()) return; // it pushes the page away under the pointer; the next look is soon
    const banner = byId("rc-banner");
    const [text, button] = this.bannerWords();
    banner.hidden = !text;
    if (!text) return;
    if (!banner.firstChild)
      replace(banner, icon("cloud_off"), h("span", {}), h("button", { type: "button", class: "rc-button rc-small" }));
    const [, words, action] = /** @type {any} */ (banner.children);
    setText(words, text);
    setText(action, button?.[0] ?? "");
    action.hidden = !button;
    action.onclick = button?.[1] ?? null;
  }

  bannerWords() {
    const retry = [gettext("Try now"), () => this.socket?.retryNow()];
    if (this.state === "signedOut")
      return [gettext("You are signed out."), [gettext("Sign in"), () => location.reload()]];
    if (this.state === "forbidden") return [gettext("You no longer have the permission to see live data."), retry];
    const known = this.atMs
      ? fill(gettext("What you see is as of %(time)s."), { time: time(this.shownMs || this.atMs) })
      : gettext("Nothing was received yet.");
    const lost = `${gettext("The connection is lost.")} ${known}`;
    if (this.state === "lost") {
      const seconds = Math.max(1, Math.ceil((this.nextTry - Date.now()) / 1000));
      return [`${lost} ${fill(gettext("Next try in %(seconds)s s."), { seconds })}`, retry];
    }
    if (this.wasLost) return [`${lost} ${gettext("Trying now.")}`, null];
    if (this.gone) return this.gone;
    if (this.stale()) {
      const age = duration(1000 * Math.floor((Date.now() - this.receivedAt) / 1000));
      const words = fill(gettext("No new data for %(age)s: Redis or the keeper may be away."), { age });
      return [`${words} ${known}`, null];
    }
    return [null, null];
  }
}
