// What changed meanwhile, pushed by the simulator. Only what is shown is read again, a few times a
// second at most.

const PAUSE = 300;
const readers = new Map();

/** Reads `parts` again with `read` whenever they change and `isShown` says so. Gives a function that reads at once. */
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
    // The next change reads again; that the simulator is gone, the mark beside the clock says.
    console.info("not read:", error.message);
  }
  reader.last = performance.now();
  reader.running = false;
  if (reader.pending) {
    reader.pending = false;
    wake(reader);
  }
}

const mark = document.getElementById("live");

function say(isLive) {
  mark.dataset.live = isLive ? "yes" : "no";
  mark.textContent = isLive ? "live" : "not connected";
}

export function connect() {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => {
    say(true);
    // Whatever happened while nobody listened.
    readers.forEach((reader) => wake(reader));
  });
  source.addEventListener("error", () => say(false));
  source.addEventListener("change", (event) => {
    const changed = JSON.parse(event.data);
    for (const reader of readers.values()) {
      if (reader.parts.some((part) => changed.includes(part))) wake(reader);
    }
  });
}
