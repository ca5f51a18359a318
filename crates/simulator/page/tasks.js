// The gallery of tasks.

import { get } from "./api.js";
import { Card } from "./card.js";
import { count, delay } from "./format.js";
import { useLive } from "./live.js";
import { Details } from "./task.js";
import { Button, Choice, Field, Filters, html, Loading } from "./ui.js";
import { useState } from "./vendor/hooks.js";
import { Welcome } from "./welcome.js";

const PAGE = 60;
const MAX_TASKS = 500;

const PROGRESS = [
  ["", "all"],
  ["active", "in progress"],
  ["ready", "ready"],
  ["failed", "failed"],
];
const REGIONS = ["global", "regional"];

function Lateness() {
  const state = useLive(["counts"], () => get("/api/state"));
  const late = ({ count: number, mean, p99 }) =>
    number > 0 ? `${delay(mean)} after it was ready (p99 ${delay(p99)})` : "";
  const { found, fetched } = state?.lateness ?? { found: {}, fetched: {} };
  const parts = [
    late(found) && `found a task ${late(found)}`,
    late(fetched) && `fetched its picture ${late(fetched)}`,
  ].filter(Boolean);
  if (parts.length === 0) return null;
  return html`<p id="lateness" class="note">On average, clients ${parts.join(", and ")}.</p>`;
}

export function Tasks({ item }) {
  const [{ limit, filters }, setWanted] = useState({ limit: PAGE, filters: [] });
  const load = () => get(`/api/tasks?${new URLSearchParams([["limit", limit], ...filters])}`);
  const page = useLive(["tasks"], load, [limit, filters]);
  const { tasks, total, next, operations, projects } = page ?? { tasks: [] };
  const isEmpty = page !== null && tasks.length === 0 && !next && filters.length === 0;
  const details = html`<${Details} id=${item} order=${tasks.map(({ id }) => id)} />`;
  // Until the tasks have been read, nothing is known about them.
  if (!page) return html`${details}<${Loading} />`;
  const more = () => setWanted({ limit: Math.min(MAX_TASKS, limit + PAGE), filters });
  return html`
    ${details}
    <${Welcome} isEmpty=${isEmpty} />
    ${
      !isEmpty &&
      html`
        <${Filters} change=${(filters) => setWanted({ limit: PAGE, filters })}>
          <${Field} label="Status" name="progress" options=${PROGRESS} />
          <${Choice} label="Operation" name="operation" values=${operations} filters=${filters} />
          <${Choice} label="Project" name="project" values=${projects} filters=${filters} />
          <${Choice} label="Region" name="region" values=${REGIONS} filters=${filters} />
          <${Field} label="Search" name="search" type="search"
            placeholder="prompt, operation, status, id" />
          <p class="total">${count(tasks.length)} of ${count(total)} tasks shown</p>
        <//>
        <${Lateness} />
        ${tasks.length === 0 && html`<p class="none">No matching tasks.</p>`}
        <ul class="gallery" aria-label="Tasks, newest first">
          ${tasks.map((task) => html`<${Card} key=${task.id} task=${task} />`)}
        </ul>
        ${
          next &&
          limit < MAX_TASKS &&
          html`<p class="more"><${Button} click=${more}>Show older tasks<//></p>`
        }
      `
    }
  `;
}
