// The filters of a list: a form of fields, whose values become the parameters of a request.

import { field, h, setOptions } from "./dom.js";

const PAUSE = 150;

/**
 * A form with a field for each of `controls`, given as `[label, control]`. Calls `change` when a
 * value has changed, but not for every letter.
 */
export function filters(controls, change, ...more) {
  let typing;
  for (const [, control] of controls) {
    const isText = control.matches("input");
    control.addEventListener(isText ? "input" : "change", () => {
      clearTimeout(typing);
      typing = setTimeout(change, isText ? PAUSE : 0);
    });
  }
  return h(
    "form",
    { class: "filters", role: "search", submit: (event) => event.preventDefault() },
    controls.map(([label, control]) => field(label, control)),
    more,
  );
}

/** The values of controls that are not empty, by their names. */
export function valuesOf(controls) {
  const given = controls.map(([, control]) => [control.name, control.value.trim()]);
  return given.filter(([, value]) => value !== "");
}

/** Offers these values and "all". The chosen value stays, even if it is not among them. */
export function offer(control, values) {
  const offered = [...new Set([...values, control.value].filter((value) => value !== ""))].sort();
  if (control.dataset.offered === offered.join("\n") && control.options.length > 0) return;
  control.dataset.offered = offered.join("\n");
  setOptions(control, [["", "all"], ...offered.map((value) => [value, value])]);
}
