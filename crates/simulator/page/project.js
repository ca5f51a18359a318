// A project: its spending, limits and endpoints.

import { send } from "./api.js";
import { count, credits } from "./format.js";
import { Button, Field, Form, html } from "./ui.js";

const PERIODS = [
  ["daily", "Today"],
  ["weekly", "This week"],
  ["monthly", "This month"],
];

function Spending({ name, spent, limit }) {
  const most = limit === null ? "" : ` of ${credits(limit)}`;
  const text = `${credits(spent)}${most} credits spent`;
  const meter = html`
    <meter min="0" max=${Math.max(limit, 0.01)} high=${limit * 0.9} optimum="0" value=${spent}
      aria-label=${`${name}: ${text}`} />
  `;
  return html`<div><dt>${name}</dt><dd>${text}${limit !== null && meter}</dd></div>`;
}

/** An empty field means no limit. */
const limitOf = (text) => (text === "" ? null : Number(text));

const Limit = ({ limit, ...rest }) => html`
  <${Field} type="number" min="0" defaultValue=${limit ?? ""} placeholder="none" ...${rest} />
`;

export function Project({ project, under, cap }) {
  const { name, spent, limits, endpoints, keys, max_active_tasks: maximum } = project;
  const path = `${under}/projects/${encodeURIComponent(project.id)}`;
  const setLimits = (values) => {
    const set = PERIODS.map(([period]) => [period, limitOf(values[period])]);
    return send("PUT", `${path}/limits`, Object.fromEntries(set));
  };
  const setEndpoints = (patterns) => send("PUT", `${path}/endpoints`, { endpoints: patterns });
  const setMaximum = (values) =>
    send("PUT", `${path}/max_active_tasks`, { max_active_tasks: limitOf(values.maximum) });
  const access = endpoints ? endpoints.join(", ") || "no endpoints" : "all endpoints";
  return html`
    <section class="panel" aria-label=${`Project ${name}`}>
      <h4>${name}</h4>
      <dl class="usage">
        ${PERIODS.map(
          ([period, shown]) =>
            html`<${Spending} name=${shown} spent=${spent[period]} limit=${limits[period]} />`,
        )}
      </dl>
      <p class="note">
        ${count(project.active_tasks)} of ${count(maximum ?? cap)} active tasks,${" "}
        ${count(keys.length)} ${keys.length === 1 ? "key" : "keys"}, access to ${access}
      </p>
      <details>
        <summary>Change</summary>
        <${Form} action="Set limits" submit=${setLimits}>
          ${PERIODS.map(
            ([period]) => html`
              <${Limit} label=${`${period[0].toUpperCase()}${period.slice(1)} limit`}
                name=${period} limit=${limits[period]} step="0.01" />
            `,
          )}
        <//>
        <${Form} action="Set endpoints"
          submit=${(values) => setEndpoints(values.endpoints.split(/[\s,]+/).filter(Boolean))}>
          <${Field} label="Endpoints" name="endpoints" defaultValue=${endpoints?.join(", ") ?? ""}
            placeholder="all" hint="Names, or prefixes such as gen-2-*. Empty denies all." />
        <//>
        <${Button} click=${() => setEndpoints(null)}>Allow all endpoints<//>
        <${Form} action="Set maximum" submit=${setMaximum}>
          <${Limit} label="Maximum of active tasks" name="maximum" limit=${maximum} step="1"
            placeholder=${cap} />
        <//>
      </details>
    </section>
  `;
}
