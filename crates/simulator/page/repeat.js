// The request of a task, to be sent again: with its images, of which the log has only summaries.

import { curl, findKey, pathOf, submit } from "./service.js";

/** The base64 text of a file. */
async function base64(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error("An image of this request is no longer stored");
  const bytes = new Uint8Array(await response.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Replaces the value at a place such as `keyframes.0`. */
function put(body, place, value) {
  const steps = place.split(".");
  const last = steps.pop();
  const holder = steps.reduce((inner, step) => inner?.[step], body);
  if (holder) holder[last] = value;
}

const SUMMARIES = [
  /^\[image\/\w+ of \d+ x \d+ pixels, \d+ bytes\]$/,
  /^\[an image at \S+, not fetched\]$/,
  /^\[an image, not read\]$/,
];

/** Whether a value of the log stands for an image. */
function isSummary(value) {
  if (typeof value === "string") return SUMMARIES.some((summary) => summary.test(value));
  return value !== null && typeof value === "object" && Object.values(value).some(isSummary);
}

/**
 * The body of a task's request. Secrets are left out, because they are not stored. Fails if other
 * parts of it are not stored either.
 */
async function bodyOf(task) {
  if (typeof task.request !== "object") throw new Error("This request is too large to be kept");
  const body = structuredClone(task.request);
  for (const image of task.images) put(body, image.field, await base64(image.file));
  for (const [name, value] of Object.entries(body)) {
    if (value === "[redacted]") delete body[name];
    else if (isSummary(value)) throw new Error(`The image in ${name} is not stored`);
  }
  return body;
}

/** Submits a task's request again, and returns the new task. */
export async function submitAgain(task) {
  const { operation, region, organization, project } = task;
  const key = await findKey({ organization, project });
  if (!key) throw new Error(`Could not find a key of the project ${organization}/${project}`);
  return submit({ operation, region, key }, await bodyOf(task));
}

/** The command that submits a task's request with curl. */
export async function curlOf(task) {
  const path = await pathOf(task.operation);
  return curl({ region: task.region, path, body: await bodyOf(task) });
}
