// Formats values.

import { parse, stringify } from "./json.js";

const decimals = new Intl.NumberFormat("en", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
const whole = new Intl.NumberFormat("en");

export const credits = (amount) => decimals.format(amount);
export const count = (number) => whole.format(number);

/** How often something happened. */
export function times(number) {
  if (number === 0) return "never";
  return number === 1 ? "once" : `${count(number)} times`;
}

/** A name with spaces instead of dashes. */
export const words = (name) => name.replaceAll("-", " ");

/** A duration, in a suitable unit. */
export function span(seconds) {
  const s = Math.max(0, seconds);
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** A short duration, to a tenth of a second. */
export const seconds = (number) => `${tenths.format(Math.max(0, number))} s`;

const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** A measured duration, to three digits. */
export const delay = (number) => `${digits.format(number)} s`;

/** The time of day of a Unix time in seconds, in UTC. */
export const clockTime = (number) => moment(number).slice(11, 19);

/** A Unix time in seconds, formatted like ISO 8601 in UTC. */
export function moment(seconds) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "–";
  return date
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

/** The address of a task's details on this page. */
export const taskHref = (id) => `#/tasks/${encodeURIComponent(id)}`;

/** A text, indented if it is JSON. */
export function indented(text) {
  try {
    return stringify(parse(text), 2);
  } catch {
    return text;
  }
}
