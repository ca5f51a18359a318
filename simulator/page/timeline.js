// The timeline of a task.

import { h } from "./dom.js";
import { clockTime, credits, moment, seconds, times } from "./format.js";

const DESCRIPTIONS = {
  accepted: (_, task) => `Accepted, and charged ${credits(task.cost)} credits`,
  polled: (detail) => `Polled: ${detail}`,
  "poll-failed": (detail) => `The fault ${detail} replaced the response to a poll`,
  ended: (detail) => `Ended: ${detail}`,
  delivered: () => "Delivered completely",
  "delivery-failed": (detail) => `The fault ${detail} broke a delivery`,
  "webhook-sent": (detail) => `Webhook ${detail}`,
  "webhook-failed": (detail) => `Webhook failed ${detail}`,
};

const isTrouble = (event, task) =>
  event.endsWith("-failed") || (event === "ended" && task.progress === "failed");

function entry({ event, detail, count: number, at, last_at }, task) {
  const describe = DESCRIPTIONS[event] ?? ((text) => `${event} ${text}`);
  const repeated =
    number > 1 ? `, ${times(number)}, last after ${seconds(last_at - task.accepted_at)}` : "";
  return h(
    "li",
    { "data-event": event, "data-trouble": isTrouble(event, task) ? "yes" : "no" },
    h("time", { title: moment(at) }, clockTime(at)),
    h("span", { class: "after" }, `+${seconds(at - task.accepted_at)}`),
    h("span", {}, describe(detail, task) + repeated),
  );
}

export function timeline(task) {
  return h(
    "ol",
    { class: "timeline", "aria-label": "Timeline, oldest first" },
    task.timeline.map((one) => entry(one, task)),
  );
}
