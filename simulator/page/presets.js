// Presets of faults: situations that a client should survive.

import { attempt, send } from "./api.js";
import { h, keyed } from "./dom.js";

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

/** The active rules of a preset, without those that were added twice. */
function activeRules({ rules }, context) {
  return rules.map((text) => context.rules.find((rule) => rule.text === text)).filter(Boolean);
}

function make(preset, context) {
  const toggle = h(
    "button",
    {
      type: "button",
      class: "preset",
      "aria-pressed": "false",
      click: attempt(async () => {
        const active = activeRules(preset, context);
        const isOn = active.length === preset.rules.length;
        const missing = preset.rules.filter((text) => !active.some((rule) => rule.text === text));
        for (const rule of isOn ? active : []) await send("DELETE", `/api/faults/${rule.id}`);
        for (const rule of missing) await send("POST", "/api/faults", { rule });
        await context.read();
      }),
    },
    h("strong", {}, preset.name),
    h("small", {}, preset.effect),
  );
  return h("li", {}, toggle);
}

/** The list of presets, and a function that updates it. */
export function presets(context) {
  const element = h("ul", { class: "presets", "aria-label": "Presets" });
  const update = () =>
    keyed(
      element,
      PRESETS,
      ({ name }) => name,
      (preset) => make(preset, context),
      (item, preset) => {
        const active = activeRules(preset, context).length;
        const isOn = active === preset.rules.length;
        item.firstElementChild.setAttribute("aria-pressed", active > 0 && !isOn ? "mixed" : isOn);
      },
    );
  return { element, update };
}
