// The simulator's clock, extrapolated between readings.

import { moment } from "./format.js";

let reading = { now: NaN, speed: 1 };
let readAt = 0;
const listeners = [];

/** Sets the current reading: the Unix time, and the speed of the clock. */
export function set({ now, speed = 1 }) {
  reading = { now, speed };
  readAt = performance.now();
  tick();
}

export function now() {
  return reading.now + ((performance.now() - readAt) / 1000) * reading.speed;
}

export const text = () => moment(now());
export const speed = () => reading.speed;

/** Calls `listener` every second while the page is visible, and at each reading. */
export function onTick(listener) {
  listeners.push(listener);
}

function tick() {
  if (document.hidden) return;
  for (const listener of listeners) listener();
}

setInterval(tick, 1000);
