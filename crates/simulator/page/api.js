// A client of the control interface.

import { parse } from "./json.js";
import { readAll } from "./live.js";

const ACTING = "acting-user";

/** The user who makes changes; empty for the simulator's operator. */
export const actingUser = {
  get: () => sessionStorage.getItem(ACTING) ?? "",
  set: (user) => sessionStorage.setItem(ACTING, user),
};

async function read(response) {
  const body = await response
    .text()
    .then(parse)
    .catch(() => null);
  if (response.ok) return body;
  const detail = typeof body?.detail === "string" ? body.detail : `HTTP ${response.status}`;
  throw Object.assign(new Error(detail), { status: response.status });
}

export async function get(path) {
  return read(await fetch(path));
}

/** Makes a change. What is shown is read again at once. */
export async function send(method, path, body = {}) {
  const headers = { "content-type": "application/json" };
  if (actingUser.get()) headers["x-acting-user"] = actingUser.get();
  const changed = await read(await fetch(path, { method, headers, body: JSON.stringify(body) }));
  readAll();
  return changed;
}

const trouble = document.getElementById("trouble");
let hiding;

/** Shows an error for a few seconds. */
export function showError(error) {
  trouble.textContent = error.message;
  trouble.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    trouble.hidden = true;
  }, 8000);
}

/** A listener that calls `work` and shows its errors. */
export function attempt(work) {
  return async (event) => {
    event?.preventDefault();
    try {
      await work(event);
    } catch (error) {
      showError(error);
    }
  };
}
