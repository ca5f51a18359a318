// What the details of a task show: its facts, its timeline, its request and its result.

import { TimeLeft } from "./card.js";
import { clockTime, credits, delay, moment, seconds, span, times } from "./format.js";
import { stringify } from "./json.js";
import { Picture } from "./picture.js";
import { Facts, html } from "./ui.js";

/** When a client first noticed that the task was ready. */
function noticed(task, after) {
  if (task.progress !== "ready") return "";
  return after === null ? "not yet" : `${delay(after)} after it was ready`;
}

function factsOf(task) {
  return [
    ["Status", html`<span class="chip" data-progress=${task.progress}>${task.status}</span>`],
    ["Reason", task.reason ?? ""],
    ["Time left", task.progress === "active" ? html`<${TimeLeft} task=${task} />` : ""],
    ["Prompt", task.prompt],
    ["Id", html`<code>${task.id}</code>`],
    ["Operation", html`<code>${task.operation}</code>`],
    ["Region", task.region],
    ["Project", [task.organization, task.project].filter(Boolean).join(" / ")],
    ["Cost", `${credits(task.cost)} credits`],
    ["Input", task.input_mp === null ? "unknown" : `${task.input_mp} megapixels`],
    ["Output", `${task.output_mp} megapixels: ${task.width} × ${task.height}, ${task.media_type}`],
    ["Seed", String(task.seed)],
    ["Accepted", moment(task.accepted_at)],
    [
      task.progress === "active" ? "Ends" : "Ended",
      `${moment(task.final_at)}, after ${span(task.final_at - task.accepted_at)}`,
    ],
    ["Polled", times(task.polls)],
    ["Found", noticed(task, task.found_after)],
    ["Fetched", noticed(task, task.fetched_after)],
    ["Delivered", times(task.deliveries)],
  ].filter(([, value]) => value !== "");
}

const DESCRIPTIONS = {
  accepted: (_, task) => `Accepted, and charged ${credits(task.cost)} credits`,
  polled: (detail) => `Polled: ${detail}`,
  "poll-failed": (detail) => `The fault ${detail} replaced the response to a poll`,
  ended: (detail) => `Ended: ${detail}`,
  delivered: () => "Delivered completely",
  "delivery-failed": (detail) => `The fault ${detail} broke a delivery`,
  "webhook-sent": (detail) => `Webhook ${detail}`,
  "webhook-failed": (detail) => `Webhook failed ${detail}`,
};

const isTrouble = (event, task) =>
  event.endsWith("-failed") || (event === "ended" && task.progress === "failed");

function Entry({ entry: { event, detail, count: number, at, last_at: lastAt }, task }) {
  const describe = DESCRIPTIONS[event] ?? ((text) => `${event} ${text}`);
  const last = `, ${times(number)}, last after ${seconds(lastAt - task.accepted_at)}`;
  return html`
    <li data-event=${event} data-trouble=${isTrouble(event, task) ? "yes" : "no"}>
      <time title=${moment(at)}>${clockTime(at)}</time>
      <span class="after">+${seconds(at - task.accepted_at)}</span>
      <span>${describe(detail, task)}${number > 1 && last}</span>
    </li>
  `;
}

/** The images of the request that are still stored. */
function Images({ images }) {
  const figure = ({ field, is_mask: isMask, width, height, file }) => html`
    <figure>
      <img src=${file} width=${width} height=${height} alt=${`The image in ${field}`} />
      <figcaption><code>${field}</code>${isMask ? " mask," : ""} ${width} × ${height}</figcaption>
    </figure>
  `;
  return images.length > 0 && html`<div class="images">${images.map(figure)}</div>`;
}

const Json = ({ label, value }) => html`
  <pre tabindex="0" aria-label=${label}>${stringify(value, 2)}</pre>
`;

/** The result as the control interface has it. Only polls return the signed URL. */
function result({ status, progress, picture, media_type, width, height }) {
  return progress === "ready" ? { status, picture, media_type, width, height } : { status };
}

export function Content({ task }) {
  const ignored = task.ignored_fields.join(", ");
  const isRedacted = Object.values(task.request).includes("[redacted]");
  return html`
    <div class="task">
      <figure class="result">${task.picture && html`<${Picture} task=${task} />`}</figure>
      <${Facts} rows=${factsOf(task)} />
      ${
        ignored &&
        html`
          <p class="warning">
            The operation has no field ${ignored}. The simulator ignored what the request has there.
          </p>
        `
      }
      <h3>Timeline</h3>
      <ol class="timeline" aria-label="Timeline, oldest first">
        ${task.timeline.map((entry) => html`<${Entry} entry=${entry} task=${task} />`)}
      </ol>
      <h3>Request</h3>
      ${
        isRedacted &&
        html`
          <p class="note">
            Secrets are not stored. The copied and the repeated request are without them.
          </p>
        `
      }
      <${Images} images=${task.images} />
      <${Json} label="Request" value=${task.request} />
      <h3>Result</h3>
      <${Json} label="Result" value=${result(task)} />
    </div>
  `;
}
