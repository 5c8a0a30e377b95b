// The server's clock. That of a browser may be wrong by hours: it only tells how time goes on.
import { page } from "./page.js";

/** @type {PerformanceNavigationTiming | undefined} */
const load = /** @type {any} */ (performance.getEntriesByType("navigation")[0]);
const aheadMs = page.now_ms ? page.now_ms + performance.now() - (load?.responseStart ?? 0) - Date.now() : 0;

/** What it says now, by what the page was told when it was made. */
export const serverNow = () => Date.now() + aheadMs;
