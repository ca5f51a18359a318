// A switch for each fault, in groups by the place where the fault applies.

import { send } from "./api.js";
import { times } from "./format.js";
import { Field, html, useAttempt } from "./ui.js";
import { useRef, useState } from "./vendor/hooks.js";

const OFTEN = [
  ["always", "always"],
  ["once", "once"],
  ["times", "a number of times"],
  ["chance", "with a probability"],
];

const GROUPS = [
  ["Any request", ({ places }) => places.length > 1],
  ["Submissions", ({ places }) => String(places) === "submission"],
  ["Polls", ({ places }) => String(places) === "poll"],
  ["Deliveries", ({ places }) => String(places) === "delivery"],
  ["Webhooks", ({ places }) => String(places) === "webhook"],
];

/** How often a rule applies, in the simulator's notation. */
const TAILS = {
  always: () => "always",
  once: () => "once",
  times: (number) => `${number}x`,
  chance: (number) => Number(number).toFixed(3),
};

const nameOf = (rule) => rule.text.split(/[@=:]/)[0];
const plain = (text) => text.replaceAll("`", "");

/** The rule of these fields, in the simulator's notation: `name[@place][=value][:often]`. */
function notation({ name }, { place, value, often, times: number, chance }) {
  const limit = { times: number, chance }[often.value];
  if (limit && !limit.checkValidity()) {
    throw Object.assign(new Error(limit.validationMessage), { field: limit.name });
  }
  const at = place?.value ? `@${place.value}` : "";
  const given = value?.value.trim() ? `=${value.value.trim()}` : "";
  return `${name}${at}${given}:${TAILS[often.value](limit?.value)}`;
}

function Switch({ fault, rules, count }) {
  const fields = useRef(null);
  const [often, setOften] = useState("always");
  const [error, attempt] = useAttempt();
  const own = rules.filter((rule) => nameOf(rule) === fault.name);
  const isOn = own.length > 0;
  const toggle = attempt(async () => {
    if (!isOn) {
      const rule = notation(fault, fields.current.elements);
      await send("POST", "/api/faults", { rule });
    }
    for (const rule of own) await send("DELETE", `/api/faults/${rule.id}`);
  });
  const wrong = error?.field ?? (fault.value ? "value" : "often");
  const field = (name) => ({ name, error: wrong === name ? error : null });
  const several = fault.places.length > 1;
  const places = [["", "everywhere"], ...fault.places.map((one) => [one, one])];
  return html`
    <li class="fault" data-key=${fault.name}>
      <div class="what">
        <button type="button" class="switch" role="switch" aria-checked=${isOn}
          aria-label=${fault.name} onClick=${toggle}>${isOn ? "on" : "off"}</button>
        <div>
          <h5><code>${fault.name}</code></h5>
          <p class="note">${plain(fault.effect)}</p>
          ${count > 0 && html`<p class="note">applied ${times(count)}</p>`}
        </div>
      </div>
      <form class="row" ref=${fields}>
        ${several && html`<${Field} label="Where" name="place" options=${places} />`}
        ${
          fault.value &&
          html`<${Field} label="Value" ...${field("value")} hint=${plain(fault.value)} />`
        }
        <${Field} label="How often" ...${field("often")} options=${OFTEN}
          onChange=${({ target }) => setOften(target.value)} />
        <${Field} label="Times" ...${field("times")} hidden=${often !== "times"} type="number"
          min="1" max="1000000000" step="1" defaultValue="3" required />
        <${Field} label="Probability" ...${field("chance")} hidden=${often !== "chance"}
          type="number" min="0" max="1" step="any" defaultValue="0.25" required />
      </form>
    </li>
  `;
}

export function Switches({ known, rules, applied }) {
  const one = (fault) => html`
    <${Switch} key=${fault.name} fault=${fault} rules=${rules} count=${applied[fault.name]} />
  `;
  const group = ([title, includes]) => html`
    <div class="group">
      <h4>${title}</h4>
      <ul class="faults" aria-label=${`Faults: ${title}`}>${known.filter(includes).map(one)}</ul>
    </div>
  `;
  return html`<div class="groups">${GROUPS.map(group)}</div>`;
}
