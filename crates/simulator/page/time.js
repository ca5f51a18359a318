// The simulator's clock, extrapolated between readings.

import { moment } from "./format.js";
import { Shown } from "./live.js";
import { useContext, useEffect, useState } from "./vendor/hooks.js";

let reading = { now: NaN, speed: 1 };
let readAt = 0;
const listeners = new Set();

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

/** Draws the view again every second while it is visible, and at each reading. */
export function useTicks() {
  const isShown = useContext(Shown);
  const [, setTicks] = useState(0);
  useEffect(() => {
    if (!isShown) return undefined;
    const again = () => setTicks((ticks) => ticks + 1);
    listeners.add(again);
    return () => listeners.delete(again);
  }, [isShown]);
}

function tick() {
  if (document.hidden) return;
  for (const listener of listeners) listener();
}

setInterval(tick, 1000);
