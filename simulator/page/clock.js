// The clock: its time and speed.

import { attempt, get, send } from "./api.js";
import { button, field, h, setText } from "./dom.js";
import { span } from "./format.js";
import * as time from "./time.js";

const STEPS = [
  ["1 second", 1],
  ["10 seconds", 10],
  ["1 minute", 60],
  ["10 minutes", 600],
  ["1 hour", 3600],
  ["1 day", 86400],
];

function mount(root) {
  const now = h("p", { class: "face" });
  const since = h("p", { class: "note" });
  const speed = h("input", {
    type: "number",
    name: "speed",
    min: "0",
    max: "100000",
    step: "any",
    value: "1",
    required: true,
  });
  const seconds = h("input", {
    type: "number",
    name: "seconds",
    min: "0",
    step: "any",
    value: "30",
    required: true,
  });
  let started = NaN;

  function update(reading) {
    started = reading.now - reading.since_start;
    time.set(reading);
    if (document.activeElement !== speed) speed.value = reading.speed;
    draw();
  }
  function draw() {
    setText(now, time.text());
    if (!Number.isNaN(started))
      setText(since, `${span(time.now() - started)} since the simulator started, on its clock`);
  }
  const step = (by) =>
    attempt(async () => update(await send("POST", "/api/clock/advance", { seconds: by() })));

  root.append(
    h(
      "p",
      { class: "note" },
      "Tasks, delivery URLs and spending limits follow this clock. It never runs backwards.",
    ),
    now,
    since,
    h("h3", {}, "Speed"),
    h(
      "form",
      {
        class: "row",
        submit: attempt(async () =>
          update(await send("PUT", "/api/clock", { speed: speed.valueAsNumber })),
        ),
      },
      field(
        "Seconds per real second",
        speed,
        "1 is real time, 60 is a minute per second, 0 stops the clock.",
      ),
      h("button", { type: "submit" }, "Set speed"),
    ),
    h("h3", {}, "Advance"),
    h(
      "div",
      { class: "row" },
      STEPS.map(([text, by]) => button(text, { click: step(() => by) })),
    ),
    h(
      "form",
      { class: "row", submit: step(() => seconds.valueAsNumber) },
      field("Seconds", seconds),
      h("button", { type: "submit" }, "Advance"),
    ),
  );
  time.onTick(() => {
    if (!root.hidden) draw();
  });
  return { read: async () => update(await get("/api/clock")) };
}

export const clock = { title: "Clock", parts: ["clock"], mount };
