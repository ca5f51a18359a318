// The deliveries of webhooks, with their bodies.

import { attempt, get, send } from "./api.js";
import { button, h, keyed, setText } from "./dom.js";
import { count, words } from "./format.js";

const PROGRESS = { delivered: "ready", waiting: "active", "given-up": "failed", refused: "failed" };

/** The body, indented if it is JSON. */
function indented(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function attemptLine({ status, problem }, place) {
  const outcome = problem ?? (status === null ? "in progress" : `status code ${status}`);
  return `attempt ${place + 1}: ${outcome}`;
}

function make(delivery, read) {
  return h(
    "li",
    { class: "panel delivery" },
    h(
      "header",
      { class: "row" },
      h("span", { class: "chip" }),
      h("code", { class: "url" }),
      h("a", { href: `#/tasks/${encodeURIComponent(delivery.task)}` }, "task"),
      button("Send again", {
        "aria-label": `Send delivery ${delivery.id} again`,
        click: attempt(async () => {
          await send("POST", `/api/webhooks/${delivery.id}/redeliver`);
          await read();
        }),
      }),
    ),
    h("p", { class: "note" }),
    h("ol", { class: "attempts" }),
    h(
      "details",
      {},
      h("summary", {}, "Body and headers"),
      h("pre", { class: "headers", tabindex: "0", "aria-label": "Headers" }),
      h("pre", { class: "body", tabindex: "0", "aria-label": "Body" }),
    ),
  );
}

function update(item, delivery) {
  const chip = item.querySelector(".chip");
  chip.dataset.progress = PROGRESS[delivery.state] ?? "active";
  setText(chip, words(delivery.state));
  setText(item.querySelector(".url"), delivery.url);
  setText(
    item.querySelector(".note"),
    [`${delivery.id}, ${words(delivery.cause)}`, delivery.webhook_id, delivery.refusal]
      .filter(Boolean)
      .join(", "),
  );
  setText(
    item.querySelector(".headers"),
    delivery.headers.map(([name, value]) => `${name}: ${value}`).join("\n") ||
      "(no specific headers)",
  );
  setText(item.querySelector(".body"), indented(delivery.body));
  const lines = delivery.attempts.map(attemptLine);
  const attempts = item.querySelector(".attempts");
  if (attempts.dataset.lines === lines.join()) return;
  attempts.dataset.lines = lines.join();
  attempts.replaceChildren(...lines.map((line) => h("li", {}, line)));
}

function mount(root) {
  const total = h("p", { class: "note" });
  const list = h("ul", { class: "deliveries", "aria-label": "Webhook deliveries, newest first" });
  root.append(
    h(
      "p",
      { class: "note" },
      "When a task ends, its result is sent to the webhook_url of its request. " +
        "Signatures and secrets are not shown.",
    ),
    total,
    list,
  );
  async function read() {
    const { total: all, deliveries } = await get("/api/webhooks?limit=50");
    setText(
      total,
      all === 0 ? "No webhooks yet." : `${count(deliveries.length)} of ${count(all)}, newest first`,
    );
    keyed(
      list,
      deliveries,
      (delivery) => delivery.id,
      (delivery) => make(delivery, read),
      update,
    );
  }
  return { read };
}

export const webhooks = { title: "Webhooks", parts: ["webhooks"], mount };
