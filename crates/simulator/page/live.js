// Live updates. The simulator pushes what has changed, and only the visible parts are read again,
// at most a few times per second.

import { useContext, useEffect, useState } from "./vendor/hooks.js";
import { createContext } from "./vendor/preact.js";

const PAUSE = 300;
const readers = new Set();

/** Whether the section of a view is the visible one. */
export const Shown = createContext(true);

/**
 * What `load` has returned last, or `null` before. It is called while the view is visible: at once,
 * and whenever one of these parts or `inputs` changes.
 */
export function useLive(parts, load, inputs = []) {
  const isShown = useContext(Shown);
  const [found, setFound] = useState(null);
  useEffect(() => {
    if (!isShown) return undefined;
    const read = async () => {
      const loaded = await load();
      if (readers.has(reader)) setFound(loaded);
    };
    const reader = { parts, read, last: Promise.resolve(), next: null };
    readers.add(reader);
    wake(reader);
    return () => readers.delete(reader);
  }, [isShown, ...inputs]);
  return found;
}

/** Reads everything that is visible. */
export function readAll() {
  for (const reader of readers) wake(reader);
}

/** Reads once the last reading has ended, and a pause after it. */
function wake(reader) {
  reader.next ??= reader.last.then(() => {
    reader.next = null;
    reader.last = run(reader);
  });
}

async function run(reader) {
  if (!readers.has(reader)) return;
  try {
    await reader.read();
  } catch (error) {
    // The next change retries. If the simulator is gone, the indicator next to the clock shows it.
    console.info("could not read:", error.message);
  }
  await new Promise((resolve) => setTimeout(resolve, PAUSE));
}

/** Whether the simulator pushes changes; `null` before the first answer. */
export function useConnection() {
  const [isLive, setLive] = useState(null);
  useEffect(() => {
    const source = new EventSource("/api/events");
    source.addEventListener("open", () => {
      setLive(true);
      // Catches up on changes while disconnected.
      readAll();
    });
    source.addEventListener("error", () => setLive(false));
    source.addEventListener("change", (event) => {
      const changed = JSON.parse(event.data);
      for (const reader of readers) {
        if (reader.parts.some((part) => changed.includes(part))) wake(reader);
      }
    });
    return () => source.close();
  }, []);
  return isLive;
}
