// The journal of requests, with explanations of those that were rejected.

import { get } from "./api.js";
import { clockTime, count, moment, taskHref } from "./format.js";
import { stringify } from "./json.js";
import { useLive } from "./live.js";
import { curl } from "./service.js";
import { Choice, CopyButton, Field, Filters, html, Loading } from "./ui.js";
import { useRef, useState } from "./vendor/hooks.js";

const LIMIT = 200;

/** What a status code means, if the response does not say more. */
const EXPLANATIONS = {
  400: "The body could not be read, or the header x-simulator-fault is invalid.",
  402: "The credits of the organization or a spending limit of the project do not suffice.",
  403: "The key, its access to the endpoint, or the signature of the delivery URL is not valid.",
  404: "There is no such path, or the picture is no longer stored.",
  405: "The path does not take this method.",
  408: "The body did not arrive in time.",
  413: "The body is larger than max_body_bytes.",
  422: "The request violates the contract.",
  429: "The project has reached its maximum of active tasks.",
};

const isFine = ({ status, faults }) => status !== null && status < 400 && faults.length === 0;

/** Why a request got its response: faults, violations, fields without an effect. */
function notes({ status, faults, detail, violations, ignored_fields: ignored }) {
  const isRejected = faults.length === 0 && status >= 400;
  return [
    faults.length > 0 && `Faults: ${faults.join(", ")}`,
    status === null && "The connection ended without a response.",
    isRejected && violations.length === 0 && (detail ?? EXPLANATIONS[status]),
    ...violations.map(({ location, message }) => `${location}: ${message}`),
    ignored.length > 0 && `Ignored fields: ${ignored.join(", ")}`,
  ].filter(Boolean);
}

function facts({ organization, project, key, region, duration_ms: milliseconds }) {
  return [
    project && `project ${organization}/${project}`,
    key && `key ${key}`,
    region,
    `${milliseconds} ms`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** What is known of a submission or a poll to send it again; too little of other requests. */
function callOf({ operation, region, path, task_id: task, request: body }) {
  if (body) return { region, path, body };
  if (operation !== "get_result" || !task) return null;
  return { region, path: `${path}?id=${encodeURIComponent(task)}` };
}

/** The body of a request or a response, if it was kept. */
function Body({ label, value }) {
  if (value === null) return null;
  const text = typeof value === "string" ? value : stringify(value, 2);
  return html`
    <details>
      <summary>${label}</summary>
      <pre tabindex="0" aria-label=${label}>${text}</pre>
    </details>
  `;
}

function Request({ request }) {
  const { time, status, method, path, task_id: task } = request;
  const call = callOf(request);
  const lines = notes(request).map((line) => html`<li>${line}</li>`);
  return html`
    <li class="request">
      <time title=${moment(time)}>${clockTime(time)}</time>
      <span class="chip" data-progress=${isFine(request) ? "ready" : "failed"}>
        ${status ?? "–"}
      </span>
      <code class="call">${method} ${path}</code>
      <span class="row">
        ${call && html`<${CopyButton} text=${() => curl(call)}>Copy as curl<//>`}
        ${task && html`<a class="of" href=${taskHref(task)}>task</a>`}
      </span>
      <p class="note">${facts(request)}</p>
      ${lines.length > 0 && html`<ul class="notes">${lines}</ul>`}
      <${Body} label="Request" value=${request.request} />
      <${Body} label="Response" value=${request.response} />
    </li>
  `;
}

const CHOICES = [
  ["operation", "Operation"],
  ["status", "Status code"],
  ["project", "Project"],
  ["key", "Key"],
];

export function Requests() {
  const [filters, setFilters] = useState([]);
  // The values of all requests that have been shown, which the filters offer.
  const seen = useRef(Object.fromEntries(CHOICES.map(([name]) => [name, new Set()]))).current;
  const load = () => get(`/api/requests?${new URLSearchParams([["limit", LIMIT], ...filters])}`);
  const found = useLive(["requests"], load, [filters]);
  const requests = found?.requests ?? [];
  for (const [name, values] of Object.entries(seen)) {
    for (const request of requests) values.add(String(request[name] ?? ""));
  }
  return html`
    <p class="note">
      All requests to the service, and why they were rejected if they were. Keys are masked, images
      are summarized, and secrets are redacted. A copied command takes the key from the variable
      IMAGEKILN_API_KEY.
    </p>
    <${Filters} change=${setFilters}>
      ${CHOICES.map(
        ([name, label]) => html`
          <${Choice} label=${label} name=${name} values=${seen[name]} filters=${filters} />
        `,
      )}
      <${Field} label="Path" name="path" type="search" placeholder="/v1/gen-2-*" />
      <p class="total">
        ${found && `${count(requests.length)} of ${count(found.count)} requests shown`}
      </p>
    <//>
    ${!found && html`<${Loading} />`}
    ${found && requests.length === 0 && html`<p class="none">No requests.</p>`}
    <ol class="requests" aria-label="Requests, newest first">
      ${requests.map((request) => html`<${Request} key=${request.number} request=${request} />`)}
    </ol>
  `;
}
