// The result of a task.

import { h } from "./dom.js";

/** A picture, or a video with controls. */
export function picture(task, properties = {}) {
  if (task.media_type.startsWith("video/")) {
    return h("video", {
      src: task.picture,
      controls: true,
      preload: "metadata",
      "aria-label": "The task's video",
    });
  }
  const image = h("img", {
    width: task.width,
    height: task.height,
    ...properties,
    src: task.picture,
    alt: task.prompt ? `Placeholder picture for: ${task.prompt}` : "Placeholder picture",
    error: () => image.replaceWith(h("p", { class: "none" }, "no longer stored")),
  });
  return image;
}
