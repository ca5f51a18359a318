// Calls of the service: its addresses, keys, and submissions.

import { get, send } from "./api.js";
import { stringify } from "./json.js";

/** The path of an operation, whose name has the neutral prefix `gen`. */
export async function pathOf(operation) {
  const { model_prefix: prefix } = await get("/api/state");
  return `/v1/${operation.replace(/^gen-/, `${prefix}-`)}`;
}

const revealed = new Map();

/** Reveals a key once, because the audit log contains each time. */
async function reveal(view) {
  // After a reset, another key may have the same id.
  const known = JSON.stringify(view);
  if (!revealed.has(known)) {
    const { key } = await send("POST", `/api/keys/${encodeURIComponent(view.id)}/reveal`);
    revealed.set(known, key);
  }
  return revealed.get(known);
}

/**
 * A complete key of a project, or of any project, preferably of the organization Default. Returns
 * `null` if there is none, or if the acting user may not reveal it.
 */
export async function findKey({ organization, project } = {}) {
  const { organizations } = await get("/api/organizations");
  const fits = (wanted, id) => wanted === undefined || wanted === id;
  const rank = ({ id }) => (id === "default" ? 0 : 1);
  const first = organizations
    .filter(({ id }) => fits(organization, id))
    .sort((one, other) => rank(one) - rank(other))
    .flatMap(({ projects }) => projects)
    .filter(({ id }) => fits(project, id))
    .flatMap(({ keys }) => keys)
    .find((key) => key.can_be_revealed);
  try {
    return first ? await reveal(first) : null;
  } catch (error) {
    if (error.status === 403) return null;
    throw error;
  }
}

/** What is wrong with a request, in one line. */
function reason(detail) {
  if (!Array.isArray(detail)) return String(detail);
  return detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
}

/** Submits a request to the service with this key, and returns the new task. */
export async function submit({ operation, region, key }, body) {
  const response = await fetch(`/try/${region}${await pathOf(operation)}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-key": key },
    body: stringify(body),
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const detail = reason(answer.detail ?? "no details");
  throw new Error(`The submission got status code ${response.status}: ${detail}`);
}

/** Quotes a text for a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The longest argument of a command, with some reserve. Linux allows 128 KiB. */
const MAX_ARGUMENT = 100_000;

/**
 * The command that sends a request with curl. Without a `key`, the shell inserts that of its
 * environment. A large body is its standard input.
 */
export async function curl({ region, path, key, body }) {
  const { base_url, regional_base_url } = await get("/api/state");
  const url = (region === "regional" ? regional_base_url : base_url) + path;
  const header = key ? quoted(`x-key: ${key}`) : '"x-key: $IMAGEKILN_API_KEY"';
  const start = `curl ${quoted(url)} --header ${header}`;
  const json = stringify(body);
  if (!json) return start;
  if (json.length <= MAX_ARGUMENT) return `${start} --json ${quoted(json)}`;
  return `${start} --json @- <<'END'\n${json}\nEND`;
}
