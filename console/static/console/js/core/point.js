// The order of numbers in a row of history; see POINT in console/history/points.py.
const NAMES = [
  "at_ms",
  "in_s",
  "out_s",
  "failed_s",
  "merged_s",
  "backlog",
  "ready",
  "retrying",
  "in_flight",
  "dead",
  "lag_ms",
  "oldest_ms",
  "p50",
  "p95",
  "p99",
  "length",
];
export const AT = Object.fromEntries(NAMES.map((name, position) => [name, position]));
