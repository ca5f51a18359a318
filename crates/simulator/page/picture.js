// The results of tasks. Loading one takes a while, because the simulator paints it then.

import { html } from "./ui.js";
import { useEffect, useRef, useState } from "./vendor/hooks.js";

/** A browser opens six connections to a server. Those that are left read everything else. */
const MAX_LOADING = 3;
const MARGIN = "200px";
const waiting = [];
const loading = new Set();

function startNext() {
  while (loading.size < MAX_LOADING && waiting.length > 0) {
    const start = waiting.shift();
    loading.add(start);
    start();
  }
}

/** Leaves the queue, or lets the next one start. */
function leave(start) {
  if (waiting.includes(start)) waiting.splice(waiting.indexOf(start), 1);
  loading.delete(start);
  startNext();
}

/** Whether to load: at once, or when `element` is near the visible part and it is its turn. */
function useTurn(element, waits) {
  const [isStarted, setStarted] = useState(!waits);
  const start = useRef(() => setStarted(true)).current;
  useEffect(() => {
    if (!waits) return undefined;
    const queue = ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      observer.disconnect();
      waiting.push(start);
      startNext();
    };
    const observer = new IntersectionObserver(queue, { rootMargin: MARGIN });
    observer.observe(element.current);
    return () => {
      observer.disconnect();
      leave(start);
    };
  }, []);
  return [isStarted, () => leave(start)];
}

/** A picture, or a video with controls. If it `waits`, it does not take connections from others. */
export function Picture({ task, waits = false }) {
  const placeholder = useRef(null);
  const [isStarted, end] = useTurn(placeholder, waits);
  const [state, setState] = useState("loading");
  const settle = (settled) => () => {
    setState(settled);
    end();
  };
  const { picture: src, prompt, width, height } = task;
  const properties = { src, width, height, onError: settle("missing") };
  const text = prompt ? `Placeholder picture for: ${prompt}` : "Placeholder picture";
  const image = html`<img alt=${text} onLoad=${settle("shown")} ...${properties} />`;
  const video = html`
    <video controls preload="metadata" aria-label="The task's video"
      onLoadedMetadata=${settle("shown")} ...${properties} />
  `;
  const shown = task.media_type.startsWith("video/") ? video : image;
  const texts = { loading: "Loading the picture…", missing: "no longer stored" };
  return html`
    ${texts[state] && html`<p class=${`none ${state}`} ref=${placeholder}>${texts[state]}</p>`}
    ${isStarted && state !== "missing" && shown}
  `;
}
