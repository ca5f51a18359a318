// Elements from plain values. Text is only ever put in as text, so that a prompt can hold any
// markup.

/** `h("p", { class: "note" }, "text", child)`; a property that is a function listens, `false` and `null` leave it out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Writes only what differs: an unchanged text disturbs neither a selection nor a screen reader. */
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

/** A form control with its label. */
export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", {}, label), control, hint ? h("small", {}, hint) : null);
}

export function select(properties, options, chosen) {
  const element = h("select", properties);
  setOptions(element, options, chosen);
  return element;
}

/** Options as `[value, text]`; what was chosen stays chosen where it is still there. */
export function setOptions(element, options, chosen = element.value) {
  element.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  if (options.some(([value]) => String(value) === String(chosen))) element.value = chosen;
}

export function button(text, properties = {}) {
  return h("button", { type: "button", ...properties }, text);
}

/** A table that a narrow screen scrolls by itself. */
export function table(caption, columns, rows, none = "Nothing yet.") {
  if (rows.length === 0) return h("p", { class: "none" }, none);
  const head = h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column || h("span", { class: "unseen" }, "Actions"))));
  const body = rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))));
  const whole = h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, head), h("tbody", {}, body));
  return h("div", { class: "scrolls", role: "region", "aria-label": caption, tabindex: "0" }, whole);
}

/** Keeps the children of `parent` in step with `items`, each with the element it had before. */
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
