// The simulator's clock, carried on between readings of it.

import { moment } from "./format.js";

let reading = { now: NaN, speed: 1 };
let readAt = 0;
const listeners = [];

/** Takes a reading: seconds since 1970, and how fast they pass. */
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

/** Calls `listener` each second, while the page can be seen, and at each reading. */
export function every(listener) {
  listeners.push(listener);
}

function tick() {
  if (!document.hidden) listeners.forEach((listener) => listener());
}

setInterval(tick, 1000);
