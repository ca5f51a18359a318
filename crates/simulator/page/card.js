// The card of a task in the gallery.

import { send } from "./api.js";
import { credits, span, taskHref } from "./format.js";
import { Picture } from "./picture.js";
import * as time from "./time.js";
import { Button, html } from "./ui.js";

/** Ends a task now, instead of when it would be ready. */
export function finish(id) {
  return send("POST", `/api/tasks/${encodeURIComponent(id)}/finish`);
}

/** How long until a task ends. */
export function TimeLeft({ task: { progress, final_at: finalAt } }) {
  time.useTicks();
  const left = finalAt - time.now();
  if (progress !== "active" || Number.isNaN(left)) return null;
  const text = left < 1 ? "less than 1 s left" : `${span(left)} left`;
  return time.speed() === 0 ? `${text}, but the clock is stopped` : text;
}

function Age({ task: { accepted_at: acceptedAt } }) {
  time.useTicks();
  const age = time.now() - acceptedAt;
  return Number.isNaN(age) ? null : `${span(age)} ago`;
}

export function Card({ task }) {
  const { id, prompt, operation, ignored_fields: ignored } = task;
  return html`
    <li class="card" data-key=${id} data-progress=${task.progress}>
      <a href=${taskHref(id)}>
        <div class="frame">
          <p class="why">${task.reason}</p>
          <p class="left"><${TimeLeft} task=${task} /></p>
          ${task.picture && html`<${Picture} task=${task} waits />`}
        </div>
        <p class="status">${task.status}</p>
        <p class=${prompt ? "prompt" : "prompt none"}>${prompt || "(no prompt)"}</p>
        <p class="ignored">${ignored.length > 0 && `Ignored: ${ignored.join(", ")}`}</p>
        <p class="meta">
          <span class="operation">${operation}</span>
          <span>${task.region}</span>
          <span>${credits(task.cost)} credits</span>
          <span class="age"><${Age} task=${task} /></span>
        </p>
      </a>
      <${Button} class="finish" aria-label=${`Finish now: ${prompt || operation}`}
        hidden=${task.progress !== "active"} click=${() => finish(id)}>Finish now<//>
    </li>
  `;
}
