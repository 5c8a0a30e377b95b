// A websocket that comes back: growing pauses, and it says when it tries next.
import { get } from "./api.js";
import { page } from "./page.js";

/** @typedef {"open" | "connecting" | "lost" | "signedOut" | "forbidden"} State */

const PAUSES_S = [1, 2, 4, 8, 15];
const REST_MS = 30_000; // a tab that nobody sees for so long listens to nothing
const SIGNED_IN_MS = 10_000; // so often a tab that is seen asks whether its user has signed in again
const SIGNED_OUT = 4401;
const FORBIDDEN = 4403;

export class Socket {
  /**
   * @param {string} path
   * @param {(message: any) => void} onMessage
   * @param {(state: State, nextTryAtMs?: number) => void} onState
   */
  constructor(path, onMessage, onState) {
    this.url = new URL(page.root + path, location.href);
    this.url.protocol = this.url.protocol === "https:" ? "wss:" : "ws:";
    this.onMessage = onMessage;
    this.onState = onState;
    this.failures = 0;
    this.ended = false;
    this.timer = 0;
    this.resting = false;
    this.bedtime = 0;
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => this.seen(!document.hidden));
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.ended = false;
    this.onState("connecting");
    this.socket = new WebSocket(this.url);
    this.socket.onmessage = (event) => {
      if (this.failures) dispatchEvent(new Event("rc-back"));
      this.failures = 0;
      this.onState("open");
      this.onMessage(JSON.parse(event.data));
    };
    this.socket.onclose = (event) => this.closed(event.code);
  }

  closed(/** @type {number} */ code) {
    this.ended = code === SIGNED_OUT || code === FORBIDDEN;
    if (code === SIGNED_OUT) {
      this.timer = setTimeout(() => this.signedIn(), SIGNED_IN_MS);
      return this.onState("signedOut");
    }
    if (code === FORBIDDEN) return this.onState("forbidden");
    const pause = PAUSES_S[Math.min(this.failures, PAUSES_S.length - 1)] * 1000 * (0.8 + 0.4 * Math.random());
    this.failures += 1;
    this.onState("lost", Date.now() + pause);
    this.timer = setTimeout(() => this.open(), pause);
  }

  /** In another tab, perhaps; for somebody else this page is none. */
  async signedIn() {
    clearTimeout(this.timer);
    if (document.hidden) return; // who comes back asks again
    this.timer = setTimeout(() => this.signedIn(), SIGNED_IN_MS);
    const { name } = await get("me").catch(() => ({ name: null }));
    if (name === page.username && this.ended) this.open();
  }

  /** Who comes back gets the newest frame, and the history of what was missed. */
  seen(/** @type {boolean} */ visible) {
    clearTimeout(this.bedtime);
    if (!visible) this.bedtime = setTimeout(() => this.rest(), REST_MS);
    else if (this.resting) {
      this.resting = false;
      this.open();
    } else if (this.ended) this.signedIn();
  }

  rest() {
    if (this.ended) return;
    this.resting = true;
    clearTimeout(this.timer);
    if (this.socket) this.socket.onclose = this.socket.onmessage = null;
    this.socket?.close();
    this.onState("connecting");
  }

  /** For who has lost the thread: a new connection begins with all of it. */
  again() {
    this.socket?.close();
  }

  retryNow() {
    if (!this.resting && this.socket?.readyState === WebSocket.CLOSED) this.open();
  }
}
