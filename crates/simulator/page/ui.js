// What the views are built of. Text is always inserted as text, so that markup in a prompt is
// harmless.

import { attempt } from "./api.js";
import htm from "./vendor/htm.js";
import { useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import { createElement } from "./vendor/preact.js";

const COPIED_SHOWN = 2000;
const TYPING_PAUSE = 150;

/** Makes a view of a template: elements, and components such as `<${Button}>…<//>`. */
export const html = htm.bind(createElement);

export function Button({ click, children, ...rest }) {
  return html`
    <button type="button" onClick=${click && attempt(click)} ...${rest}>${children}</button>
  `;
}

/** A button that shows what follows it, which is hidden only on a narrow screen. */
export function Unfold({ children }) {
  const [isOpen, setOpen] = useState(false);
  const toggle = () => setOpen(!isOpen);
  return html`
    <${Button} class="unfold" aria-expanded=${isOpen} click=${toggle}>${children}<//>
  `;
}

/** A button that copies what `text` returns, and says so for a moment. */
export function CopyButton({ text, children, ...rest }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(await text());
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_SHOWN);
  };
  return html`<${Button} click=${copy} ...${rest}>${isCopied ? "Copied" : children}<//>`;
}

/**
 * A form control with its label and its error: an input, or a select if there are `options`, given
 * as `[value, text]`. The browser keeps its value, which changes of the view do not touch.
 */
export function Field({ label, hint, error, hidden, options, chosen, ...rest }) {
  const control = useRef(null);
  useLayoutEffect(() => {
    if (error) control.current.focus();
  }, [error]);
  const properties = { ...rest, ref: control, "aria-invalid": error ? "true" : null };
  const option = ([value, text]) =>
    html`<option key=${value} value=${value} defaultSelected=${value === chosen}>${text}</option>`;
  return html`
    <label class="field" hidden=${hidden}>
      <span>${label}</span>
      ${
        options
          ? html`<select ...${properties}>${options.map(option)}</select>`
          : html`<input autocomplete="off" ...${properties} />`
      }
      ${hint && html`<small>${hint}</small>`}
      ${error && html`<small class="error" role="alert">${error.message}</small>`}
    </label>
  `;
}

/**
 * A form that calls `submit` with the values by the names of its fields, and is then reset. With a
 * heading it is a panel.
 */
export function Form({ heading, note, action, submit, keepsValues = false, children }) {
  const onSubmit = attempt(async ({ target }) => {
    await submit(Object.fromEntries(new FormData(target)));
    if (!keepsValues) target.reset();
  });
  const fields = html`${children}<button type="submit">${action}</button>`;
  if (!heading) return html`<form class="row" onSubmit=${onSubmit}>${fields}</form>`;
  return html`
    <form class="panel" onSubmit=${onSubmit}>
      ${heading}
      ${note && html`<p class="note">${note}</p>`}
      <div class="row">${fields}</div>
    </form>
  `;
}

/** The filters of a list. Calls `change` with those that have a value, as `[name, value]`. */
export function Filters({ change, children }) {
  const typing = useRef(0);
  const onInput = ({ target, currentTarget: form }) => {
    clearTimeout(typing.current);
    const values = () => [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
    const report = () => change(values().filter(([, value]) => value !== ""));
    typing.current = setTimeout(report, target.matches("input") ? TYPING_PAUSE : 0);
  };
  const onSubmit = (event) => event.preventDefault();
  return html`
    <form class="filters" role="search" onInput=${onInput} onSubmit=${onSubmit}>
      <${Unfold}>Filters<//>
      ${children}
    </form>
  `;
}

/** A filter that offers these values. The chosen one stays, even if it is not among them. */
export function Choice({ name, values, filters, ...rest }) {
  const chosen = filters.filter(([filter]) => filter === name).map(([, value]) => value);
  const offered = [...new Set([...values, ...chosen])].filter((value) => value !== "").sort();
  const options = [["", "all"], ...offered.map((value) => [value, value])];
  return html`<${Field} name=${name} options=${options} ...${rest} />`;
}

export const Loading = () => html`<p class="none loading">Loading…</p>`;

/**
 * A table that scrolls horizontally on a narrow screen. Each row is a key and its cells; without
 * `rows` the table is loading.
 */
export function Table({ caption, columns, rows, none = "Nothing yet." }) {
  if (!rows) return html`<${Loading} />`;
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  const head = (column) =>
    html`<th scope="col">${column || html`<span class="unseen">Actions</span>`}</th>`;
  const cell = (content, place) => html`<td data-column=${columns[place]}>${content}</td>`;
  const row = ([key, ...cells]) => html`<tr key=${key}>${cells.map(cell)}</tr>`;
  return html`
    <div class="scrolls" role="region" aria-label=${caption} tabindex="0">
      <table>
        <caption class="unseen">${caption}</caption>
        <thead><tr>${columns.map(head)}</tr></thead>
        <tbody>${rows.map(row)}</tbody>
      </table>
    </div>
  `;
}

/** Names and values. */
export const Facts = ({ rows }) => html`
  <dl class="facts">
    ${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>
`;

/** The last error, and a maker of listeners that set it, to be shown beside a field. */
export function useAttempt() {
  const [error, setError] = useState(null);
  const attemptHere = (work) => async (event) => {
    event.preventDefault();
    try {
      await work(event);
      setError(null);
    } catch (problem) {
      setError(problem);
    }
  };
  return [error, attemptHere];
}
