// Creates elements. Text is always inserted as text, so that markup in a prompt is harmless.

/**
 * Creates an element: `h("p", { class: "note" }, "text", child)`. Functions become event listeners,
 * and properties that are `false` or `null` are omitted.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Sets the text if it differs, to keep selections and not to disturb screen readers. */
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

/** A form control with its label. */
export function field(label, control, hint) {
  return h(
    "label",
    { class: "field" },
    h("span", {}, label),
    control,
    hint ? h("small", {}, hint) : null,
  );
}

/** Shows what is wrong with the value of a field, beside it; nothing is wrong if it is empty. */
export function setError(control, message) {
  const label = control.closest(".field");
  label.querySelector(".error")?.remove();
  if (message) {
    control.setAttribute("aria-invalid", "true");
    label.append(h("small", { class: "error", role: "alert" }, message));
  } else control.removeAttribute("aria-invalid");
}

/**
 * A listener that calls `work` and shows its errors beside the first of these controls, or beside
 * the `control` that the error names.
 */
export function attemptAt(controls, work) {
  return async (event) => {
    event.preventDefault();
    for (const control of controls) setError(control, "");
    try {
      await work(event);
    } catch (error) {
      const at = error.control ?? controls[0];
      setError(at, error.message);
      at.focus();
    }
  };
}

export function select(properties, options, chosen) {
  const element = h("select", properties);
  setOptions(element, options, chosen);
  return element;
}

/** Sets the options, given as `[value, text]`. Keeps the selected value if it still exists. */
export function setOptions(element, options, chosen = element.value) {
  element.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  if (options.some(([value]) => String(value) === String(chosen))) element.value = chosen;
}

export function button(text, properties = {}) {
  return h("button", { type: "button", ...properties }, text);
}

/** A table that scrolls horizontally on a narrow screen. */
export function table(caption, columns, rows, none = "Nothing yet.") {
  if (rows.length === 0) return h("p", { class: "none" }, none);
  const head = h(
    "tr",
    {},
    columns.map((column) =>
      h("th", { scope: "col" }, column || h("span", { class: "unseen" }, "Actions")),
    ),
  );
  const body = rows.map((cells) =>
    h(
      "tr",
      {},
      cells.map((cell, place) => h("td", { "data-column": columns[place] }, cell)),
    ),
  );
  const whole = h(
    "table",
    {},
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, head),
    h("tbody", {}, body),
  );
  return h(
    "div",
    { class: "scrolls", role: "region", "aria-label": caption, tabindex: "0" },
    whole,
  );
}

const drawn = new WeakMap();

/**
 * Replaces the children of `element` by those that `draw` returns, if `data` has changed since the
 * last time. Otherwise selections, the focus and revealed texts stay.
 */
export function redraw(element, data, draw) {
  const text = JSON.stringify(data);
  if (drawn.get(element) === text) return;
  drawn.set(element, text);
  element.replaceChildren(...[draw()].flat());
}

/** Updates the children of `parent` to match `items`, and reuses the element of each item. */
export function keyed(parent, items, key, make, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let child = before.get(name);
    before.delete(name);
    if (!child) {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const gone of before.values()) gone.remove();
}
