// Live updates. The simulator pushes what has changed, and only the visible parts are read again,
// at most a few times per second.

const PAUSE = 300;
const readers = new Map();

/**
 * Calls `read` whenever one of `parts` changes while `isShown` returns true. Returns a function
 * that reads at once.
 */
export function follow(parts, isShown, read) {
  const reader = { parts, isShown, read, pending: false, running: false, last: 0 };
  readers.set(read, reader);
  return () => wake(reader, 0);
}

function wake(reader, pause = PAUSE) {
  if (reader.pending) return;
  reader.pending = true;
  if (reader.running) return;
  const wait = Math.max(0, reader.last + pause - performance.now());
  setTimeout(() => run(reader), wait);
}

async function run(reader) {
  reader.pending = false;
  if (!reader.isShown()) return;
  reader.running = true;
  try {
    await reader.read();
  } catch (error) {
    // The next change retries. If the simulator is gone, the indicator next to the clock shows it.
    console.info("could not read:", error.message);
  }
  reader.last = performance.now();
  reader.running = false;
  if (reader.pending) {
    reader.pending = false;
    wake(reader);
  }
}

const indicator = document.getElementById("live");

function showConnection(isLive) {
  indicator.dataset.live = isLive ? "yes" : "no";
  indicator.textContent = isLive ? "live" : "not connected";
}

export function connect() {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => {
    showConnection(true);
    // Catches up on changes while disconnected.
    for (const reader of readers.values()) wake(reader);
  });
  source.addEventListener("error", () => showConnection(false));
  source.addEventListener("change", (event) => {
    const changed = JSON.parse(event.data);
    for (const reader of readers.values()) {
      if (reader.parts.some((part) => changed.includes(part))) wake(reader);
    }
  });
}
