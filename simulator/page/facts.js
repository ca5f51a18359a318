// What the details of a task show: its facts, its timeline, its request and its result.

import { h } from "./dom.js";
import { credits, moment, span, times } from "./format.js";
import { picture } from "./picture.js";
import { timeline } from "./timeline.js";

function facts(task) {
  const rows = [
    ["Status", h("span", { class: "chip", "data-progress": task.progress }, task.status)],
    ["Reason", task.reason ?? ""],
    ["Time left", task.progress === "active" ? h("span", { class: "left" }) : ""],
    ["Prompt", task.prompt],
    ["Id", h("code", {}, task.id)],
    ["Operation", h("code", {}, task.operation)],
    ["Region", task.region],
    ["Project", [task.organization, task.project].filter(Boolean).join(" / ")],
    ["Cost", `${credits(task.cost)} credits`],
    ["Input", task.input_mp === null ? "unknown" : `${task.input_mp} megapixels`],
    ["Output", `${task.output_mp} megapixels: ${task.width} × ${task.height}, ${task.media_type}`],
    ["Seed", task.seed],
    ["Accepted", moment(task.accepted_at)],
    [
      task.progress === "active" ? "Ends" : "Ended",
      `${moment(task.final_at)}, after ${span(task.final_at - task.accepted_at)}`,
    ],
    ["Polled", times(task.polls)],
    ["Delivered", times(task.deliveries)],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows
      .filter(([, value]) => value !== "")
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

function ignored({ ignored_fields: names }) {
  if (names.length === 0) return null;
  return h(
    "p",
    { class: "warning" },
    `The operation has no field ${names.join(", ")}. `,
    "The simulator ignored what the request has there.",
  );
}

/** What is missing when the request is sent again. */
function secrets({ request }) {
  const isRedacted = Object.values(request).includes("[redacted]");
  const text = "Secrets are not stored. The copied and the repeated request are without them.";
  return isRedacted ? h("p", { class: "note" }, text) : null;
}

/** The images of the request that are still stored. */
function images(task) {
  const shown = task.images.map(({ field, is_mask, width, height, file }) =>
    h(
      "figure",
      {},
      h("img", { src: file, width, height, alt: `The image in ${field}` }),
      h("figcaption", {}, h("code", {}, field), ` ${is_mask ? "mask, " : ""}${width} × ${height}`),
    ),
  );
  return shown.length > 0 ? h("div", { class: "images" }, shown) : null;
}

function json(label, value) {
  return h("pre", { tabindex: "0", "aria-label": label }, JSON.stringify(value, null, 2));
}

/** The result as the control interface has it. Only polls return the signed URL. */
function result({ status, progress, picture: url, media_type, width, height }) {
  return progress === "ready" ? { status, picture: url, media_type, width, height } : { status };
}

/** The parts of the details. `frame` is the element for the picture. */
export function sections(task, frame) {
  if (task.picture && !frame.firstElementChild) frame.append(picture(task));
  return [
    frame,
    facts(task),
    ignored(task),
    h("h3", {}, "Timeline"),
    timeline(task),
    h("h3", {}, "Request"),
    secrets(task),
    images(task),
    json("Request", task.request),
    h("h3", {}, "Result"),
    json("Result", result(task)),
  ].filter(Boolean);
}
