// Presets of faults: situations that a client should survive.

import { send } from "./api.js";
import { Button, html } from "./ui.js";

const PRESETS = [
  {
    name: "Bad network",
    effect: "slow responses, connections that reset, deliveries that break off",
    rules: ["slow-headers=2:0.300", "reset=before:0.150", "truncated:0.300"],
  },
  {
    name: "429 storm",
    effect: "most submissions and polls get a 429 and have to wait a second",
    rules: ["rate-limited@submission=1:0.700", "rate-limited@poll=1:0.700"],
  },
  {
    name: "Lost replies",
    effect: "submissions are accepted and charged, but their responses do not arrive",
    rules: ["reply-lost:0.300", "error-after=502:0.200", "reset@submission=after:0.200"],
  },
  {
    name: "Failing gateway",
    effect: "a proxy responds with error pages",
    rules: ["html-502:0.300", "error-before=503:0.200"],
  },
  {
    name: "Unreliable webhooks",
    effect: "webhooks arrive twice, late, out of order, or forged",
    rules: [
      "webhook-duplicate:0.500",
      "webhook-late=10:0.300",
      "webhook-out-of-order:0.300",
      "webhook-forged:0.200",
    ],
  },
];

/** A preset is on if all its rules are active, which does not count those that were added twice. */
function Preset({ preset: { name, effect, rules }, active }) {
  const own = rules.map((text) => active.find((rule) => rule.text === text)).filter(Boolean);
  const isOn = own.length === rules.length;
  const toggle = async () => {
    const missing = rules.filter((text) => !own.some((rule) => rule.text === text));
    for (const rule of isOn ? own : []) await send("DELETE", `/api/faults/${rule.id}`);
    for (const rule of missing) await send("POST", "/api/faults", { rule });
  };
  return html`
    <li data-key=${name}>
      <${Button} class="preset" aria-pressed=${own.length > 0 && !isOn ? "mixed" : isOn}
        click=${toggle}>
        <strong>${name}</strong>
        <small>${effect}</small>
      <//>
    </li>
  `;
}

export function Presets({ rules }) {
  return html`
    <ul class="presets" aria-label="Presets">
      ${PRESETS.map((preset) => html`<${Preset} preset=${preset} active=${rules} />`)}
    </ul>
  `;
}
