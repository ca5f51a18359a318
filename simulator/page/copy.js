// A button that copies a text.

import { attempt } from "./api.js";
import { button } from "./dom.js";

const SHOWN = 2000;

/** A button that copies what `text` returns, and says so for a moment. */
export function copyButton(label, text, properties = {}) {
  const element = button(label, {
    ...properties,
    click: attempt(async () => {
      await navigator.clipboard.writeText(await text());
      element.textContent = "Copied";
      setTimeout(() => {
        element.textContent = label;
      }, SHOWN);
    }),
  });
  return element;
}
