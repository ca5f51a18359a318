// The deliveries of webhooks, with their bodies.

import { attempt, get, send } from "./api.js";
import { button, h, keyed, setText } from "./dom.js";
import { clockTime, count, moment, words } from "./format.js";

const PROGRESS = { delivered: "ready", waiting: "active", "given-up": "failed", refused: "failed" };

/** The body, indented if it is JSON. */
function indented(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function attemptLine({ at, status, problem }, place, startedAt) {
  const outcome = problem ?? (status === null ? "in progress" : `status code ${status}`);
  return `${clockTime(startedAt + at)} UTC, attempt ${place + 1}: ${outcome}`;
}

/** When a delivery is due, if it is. */
function dueLine({ state, due_at, attempts }, startedAt) {
  if (state !== "waiting") return [];
  const what = attempts.length === 0 ? "due" : "next attempt";
  return [`${clockTime(startedAt + due_at)} UTC, ${what}`];
}

/** The headers of the scheme `standard` that every webhook has. */
const UNSIGNED = ["webhook-id", "webhook-timestamp"];

/** The signature of the last attempt: the scheme decides in which header it is. */
function signature({ headers, attempts }) {
  if (attempts.length === 0) return "sent with the first attempt";
  const header = headers.find(([name]) => !UNSIGNED.includes(name));
  return header ? header.join(": ") : "none, because the request has no webhook_secret";
}

function fact(name, className) {
  return h("div", {}, h("dt", {}, name), h("dd", { class: className }));
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
      button("Send again", {
        "aria-label": `Send again: delivery ${delivery.id}`,
        click: attempt(async () => {
          await send("POST", `/api/webhooks/${delivery.id}/redeliver`);
          await read();
        }),
      }),
    ),
    h(
      "dl",
      { class: "facts" },
      h(
        "div",
        {},
        h("dt", {}, "Task"),
        h("dd", {}, h("a", { class: "of", href: `#/tasks/${encodeURIComponent(delivery.task)}` })),
      ),
      fact("Delivery", "number"),
      fact("Webhook id", "webhook-id"),
      fact("Signature", "signature"),
    ),
    h("ol", { class: "attempts", "aria-label": "Attempts, oldest first" }),
    h(
      "details",
      {},
      h("summary", {}, "Body and headers"),
      h("pre", { class: "headers", tabindex: "0", "aria-label": "Headers" }),
      h("pre", { class: "body", tabindex: "0", "aria-label": "Body" }),
    ),
  );
}

function update(item, delivery, startedAt) {
  const part = (name) => item.querySelector(`.${name}`);
  const chip = part("chip");
  chip.dataset.progress = PROGRESS[delivery.state] ?? "active";
  setText(chip, words(delivery.state));
  setText(part("url"), delivery.url);
  setText(part("of"), delivery.prompt || delivery.task);
  setText(part("number"), `${delivery.id}, ${words(delivery.cause)}`);
  setText(part("webhook-id"), delivery.webhook_id);
  setText(part("signature"), signature(delivery));
  setText(
    part("headers"),
    delivery.headers.map(([name, value]) => `${name}: ${value}`).join("\n") ||
      "(no specific headers)",
  );
  setText(part("body"), indented(delivery.body));
  const lines = [
    ...delivery.attempts.map((one, place) => attemptLine(one, place, startedAt)),
    ...dueLine(delivery, startedAt),
    ...(delivery.refusal ? [`refused: ${delivery.refusal}`] : []),
  ];
  const attempts = part("attempts");
  if (attempts.dataset.lines === lines.join()) return;
  attempts.dataset.lines = lines.join();
  attempts.title = `The simulator started at ${moment(startedAt)}`;
  attempts.replaceChildren(...lines.map((line) => h("li", {}, line)));
}

function mount(root) {
  const total = h("p", { class: "note" });
  const list = h("ul", { class: "deliveries", "aria-label": "Webhook deliveries, newest first" });
  root.append(
    h(
      "p",
      { class: "note" },
      "When a task ends, its result is sent to the webhook_url of its request, and signed with " +
        "its webhook_secret. Secrets are not shown.",
    ),
    total,
    list,
  );
  async function read() {
    const { total: all, started_at, deliveries } = await get("/api/webhooks?limit=50");
    setText(
      total,
      all === 0
        ? "No webhooks yet."
        : `${count(deliveries.length)} of ${count(all)} deliveries shown, newest first`,
    );
    keyed(
      list,
      deliveries,
      (delivery) => delivery.id,
      (delivery) => make(delivery, read),
      (item, delivery) => update(item, delivery, started_at),
    );
  }
  return { read };
}

export const webhooks = { title: "Webhooks", parts: ["webhooks"], mount };
