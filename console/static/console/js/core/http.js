// Asking the server. Errors carry the server's own words.
import { page } from "./page.js";
import { gettext } from "./text.js";

export class ServerError extends Error {
  /** `body`: all of the answer, where there was one. */
  constructor(status, code, message, body = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

/** GET with query values; empty ones are left out. Pass `signal` to stop it. */
export async function get(address, query = {}, signal = undefined) {
  const url = new URL(address, location.href);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  const lost = gettext("The server cannot be reached.");
  return answer(await reach(url, { headers: { Accept: "application/json" }, signal }, lost));
}

export async function post(address, body) {
  const options = {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": page.csrf },
    body: JSON.stringify(body),
  };
  // It may have arrived, and only the answer was lost.
  const lost = gettext("The server did not answer. Look whether it was done before you try again.");
  return answer(await reach(new URL(address, location.href), options, lost));
}

async function reach(url, options, lost) {
  try {
    return await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "unreachable", lost);
  }
}

async function answer(response) {
  const found = await response.json().catch(() => null);
  if (response.ok && found) return found;
  const message = found?.message ?? `${response.status} ${response.statusText}`;
  throw new ServerError(response.status, found?.code ?? "error", message, found ?? {});
}
