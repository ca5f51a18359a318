// Webhooks as they went out, with their bodies.

import { attempt, get, send } from "./api.js";
import { button, h, keyed, setText } from "./dom.js";
import { count } from "./format.js";

const PROGRESS = { delivered: "ready", waiting: "active", "given-up": "failed", refused: "failed" };
const words = (name) => name.replaceAll("-", " ");

/** The body as it was sent, and laid out where that can be done. */
function laidOut(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function attemptLine({ status, problem }, place) {
  return `attempt ${place + 1}: ${problem ?? (status === null ? "under way" : `answered ${status}`)}`;
}

function make(delivery, read) {
  return h("li", { class: "panel delivery" },
    h("header", { class: "row" }, h("span", { class: "chip" }), h("code", { class: "url" }),
      h("a", { href: `#/tasks/${encodeURIComponent(delivery.task)}` }, "task"),
      button("Send again", { "aria-label": `Send delivery ${delivery.id} again`,
        click: attempt(async () => { await send("POST", `/api/webhooks/${delivery.id}/redeliver`); await read(); }) })),
    h("p", { class: "note" }), h("ol", { class: "attempts" }),
    h("details", {}, h("summary", {}, "Body and headers"),
      h("pre", { class: "headers", tabindex: "0", "aria-label": "Headers" }), h("pre", { class: "body", tabindex: "0", "aria-label": "Body" })));
}

function update(item, delivery) {
  const chip = item.querySelector(".chip");
  chip.dataset.progress = PROGRESS[delivery.state] ?? "active";
  setText(chip, words(delivery.state));
  setText(item.querySelector(".url"), delivery.url);
  setText(item.querySelector(".note"), [`${delivery.id}, ${words(delivery.cause)}`, delivery.webhook_id, delivery.refusal].filter(Boolean).join(", "));
  setText(item.querySelector(".headers"), delivery.headers.map(([name, value]) => `${name}: ${value}`).join("\n") || "(not sent yet)");
  setText(item.querySelector(".body"), laidOut(delivery.body));
  const lines = delivery.attempts.map(attemptLine);
  const attempts = item.querySelector(".attempts");
  if (attempts.dataset.lines === lines.join()) return;
  attempts.dataset.lines = lines.join();
  attempts.replaceChildren(...lines.map((line) => h("li", {}, line)));
}

function mount(root) {
  const total = h("p", { class: "note" });
  const list = h("ul", { class: "deliveries", "aria-label": "Webhook deliveries, newest first" });
  root.append(h("p", { class: "note" }, "A task whose request names a webhook_url is told there at its final status. Signatures and secrets are not shown."), total, list);
  async function read() {
    const { total: all, deliveries } = await get("/api/webhooks?limit=50");
    setText(total, all === 0 ? "No webhook yet." : `${count(deliveries.length)} of ${count(all)}, newest first`);
    keyed(list, deliveries, (delivery) => delivery.id, (delivery) => make(delivery, read), update);
  }
  return { read };
}

export const webhooks = { title: "Webhooks", parts: ["webhooks"], mount };
