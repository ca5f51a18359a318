// The clock: its time and speed.

import { get, send } from "./api.js";
import { span } from "./format.js";
import { useLive } from "./live.js";
import * as time from "./time.js";
import { Button, Field, Form, html } from "./ui.js";

const STEPS = [
  ["1 second", 1],
  ["10 seconds", 10],
  ["1 minute", 60],
  ["10 minutes", 600],
  ["1 hour", 3600],
  ["1 day", 86400],
];

export function Clock() {
  time.useTicks();
  const reading = useLive(["clock"], async () => {
    const found = await get("/api/clock");
    time.set(found);
    return found;
  });
  const advance = (seconds) => send("POST", "/api/clock/advance", { seconds });
  const passed = reading && time.now() - (reading.now - reading.since_start);
  return html`
    <p class="note">
      Tasks, delivery URLs and spending limits follow this clock. It never runs backwards.
    </p>
    <p class="face">${time.text()}</p>
    <p class="note">
      ${reading && `${span(passed)} since the simulator started, on its clock`}
    </p>
    <h3>Speed</h3>
    <${Form} action="Set speed"
      submit=${({ speed }) => send("PUT", "/api/clock", { speed: Number(speed) })}>
      <${Field} label="Seconds per real second" name="speed" type="number" min="0" max="100000"
        step="any" defaultValue=${reading?.speed ?? 1} required
        hint="1 is real time, 60 is a minute per second, 0 stops the clock." />
    <//>
    <h3>Advance</h3>
    <div class="row">
      ${STEPS.map(([text, by]) => html`<${Button} click=${() => advance(by)}>${text}<//>`)}
    </div>
    <${Form} action="Advance" keepsValues submit=${({ seconds }) => advance(Number(seconds))}>
      <${Field} label="Seconds" name="seconds" type="number" min="0" step="any" defaultValue="30"
        required />
    <//>
  `;
}
