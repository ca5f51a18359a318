// The card of a task in the gallery.

import { attempt, send } from "./api.js";
import { button, h, setText } from "./dom.js";
import { credits, span } from "./format.js";
import { picture } from "./picture.js";
import * as time from "./time.js";

/** Ends a task now, instead of when it would be ready. */
export function finish(id) {
  return send("POST", `/api/tasks/${encodeURIComponent(id)}/finish`);
}

export function makeCard(task) {
  return h(
    "li",
    { class: "card" },
    h(
      "a",
      { href: `#/tasks/${encodeURIComponent(task.id)}` },
      h("div", { class: "frame" }, h("p", { class: "why" }), h("p", { class: "left" })),
      h("p", { class: "status" }),
      h("p", { class: "prompt" }),
      h("p", { class: "ignored" }),
      h(
        "p",
        { class: "meta" },
        h("span", { class: "operation" }),
        h("span", { class: "region" }),
        h("span", { class: "cost" }),
        h("span", { class: "age" }),
      ),
    ),
    button("Finish now", {
      class: "finish",
      "aria-label": `Finish now: ${task.prompt || task.operation}`,
      click: attempt(() => finish(task.id)),
    }),
  );
}

export function updateCard(card, task) {
  const part = (name) => card.querySelector(`.${name}`);
  card.dataset.progress = task.progress;
  card.dataset.acceptedAt = task.accepted_at;
  card.dataset.finalAt = task.final_at;
  setText(part("status"), task.status);
  setText(part("why"), task.reason ?? "");
  setText(part("prompt"), task.prompt || "(no prompt)");
  part("prompt").classList.toggle("none", !task.prompt);
  const ignored = task.ignored_fields.join(", ");
  setText(part("ignored"), ignored ? `Ignored: ${ignored}` : "");
  setText(part("operation"), task.operation);
  setText(part("region"), task.region);
  setText(part("cost"), `${credits(task.cost)} credits`);
  part("finish").hidden = task.progress !== "active";
  updateTimes(card);
  const frame = part("frame");
  if (task.picture && !frame.querySelector("img, video, .none")) {
    frame.append(picture(task, { loading: "lazy" }));
  }
}

/** How long until a task ends. */
export function timeLeft(finalAt) {
  const left = finalAt - time.now();
  if (Number.isNaN(left)) return "";
  const text = left < 1 ? "less than 1 s left" : `${span(left)} left`;
  return time.speed() === 0 ? `${text}, but the clock is stopped` : text;
}

/** Updates what changes by the passage of time alone. */
export function updateTimes(card) {
  const age = time.now() - Number(card.dataset.acceptedAt);
  setText(card.querySelector(".age"), Number.isNaN(age) ? "" : `${span(age)} ago`);
  const isActive = card.dataset.progress === "active";
  setText(card.querySelector(".left"), isActive ? timeLeft(Number(card.dataset.finalAt)) : "");
}
