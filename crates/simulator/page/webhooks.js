// The deliveries of webhooks, with their bodies.

import { get, send } from "./api.js";
import { clockTime, count, indented, moment, taskHref, words } from "./format.js";
import { useLive } from "./live.js";
import { Button, Facts, html } from "./ui.js";

const PROGRESS = { delivered: "ready", waiting: "active", "given-up": "failed", refused: "failed" };

function attemptLine({ at, status, problem }, place, startedAt) {
  const outcome = problem ?? (status === null ? "in progress" : `status code ${status}`);
  return `${clockTime(startedAt + at)} UTC, attempt ${place + 1}: ${outcome}`;
}

/** What happened to a delivery, and when it is due next. */
function lines({ attempts, state, due_at: dueAt, refusal }, startedAt) {
  const due = attempts.length === 0 ? "due" : "next attempt";
  return [
    ...attempts.map((one, place) => attemptLine(one, place, startedAt)),
    state === "waiting" && `${clockTime(startedAt + dueAt)} UTC, ${due}`,
    refusal && `refused: ${refusal}`,
  ].filter(Boolean);
}

/** The headers of the scheme `standard` that every webhook has. */
const UNSIGNED = ["webhook-id", "webhook-timestamp"];

/** The signature of the last attempt: the scheme decides in which header it is. */
function signature({ headers, attempts }) {
  if (attempts.length === 0) return "sent with the first attempt";
  const header = headers.find(([name]) => !UNSIGNED.includes(name));
  return header ? header.join(": ") : "none, because the request has no webhook_secret";
}

function Delivery({ delivery, startedAt }) {
  const { id, state, task } = delivery;
  const headers = delivery.headers.map((header) => header.join(": ")).join("\n");
  const facts = [
    ["Task", html`<a class="of" href=${taskHref(task)}>${delivery.prompt || task}</a>`],
    ["Delivery", `${id}, ${words(delivery.cause)}`],
    ["Webhook id", delivery.webhook_id],
    ["Signature", html`<span class="signature">${signature(delivery)}</span>`],
  ];
  const again = () => send("POST", `/api/webhooks/${id}/redeliver`);
  return html`
    <li class="panel delivery">
      <header class="row">
        <span class="chip" data-progress=${PROGRESS[state] ?? "active"}>${words(state)}</span>
        <code class="url">${delivery.url}</code>
        <${Button} aria-label=${`Send again: delivery ${id}`} click=${again}>Send again<//>
      </header>
      <${Facts} rows=${facts} />
      <ol class="attempts" aria-label="Attempts, oldest first"
        title=${`The simulator started at ${moment(startedAt)}`}>
        ${lines(delivery, startedAt).map((line) => html`<li>${line}</li>`)}
      </ol>
      <details>
        <summary>Body and headers</summary>
        <pre tabindex="0" aria-label="Headers">${headers || "(no specific headers)"}</pre>
        <pre class="body" tabindex="0" aria-label="Body">${indented(delivery.body)}</pre>
      </details>
    </li>
  `;
}

export function Webhooks() {
  const found = useLive(["webhooks"], () => get("/api/webhooks?limit=50"));
  const { total, started_at: startedAt, deliveries } = found ?? { deliveries: [] };
  const shown = `${count(deliveries.length)} of ${count(total)} deliveries shown, newest first`;
  return html`
    <p class="note">
      When a task ends, its result is sent to the webhook_url of its request, and signed with
      its webhook_secret. Secrets are not shown.
    </p>
    <p class="note">${found && (total === 0 ? "No webhooks yet." : shown)}</p>
    <ul class="deliveries" aria-label="Webhook deliveries, newest first">
      ${deliveries.map(
        (delivery) =>
          html`<${Delivery} key=${delivery.id} delivery=${delivery} startedAt=${startedAt} />`,
      )}
    </ul>
  `;
}
