// JSON whose integers keep their digits: a seed has 64 bits, and a number of JavaScript 53.

const INTEGER = /^-?\d+$/;

/** Reads JSON. Integers that a number cannot hold are of the type `bigint`. */
export function parse(text) {
  return JSON.parse(text, (_, value, context) => {
    // Browsers before 2025 do not tell it.
    const digits = context?.source ?? "";
    return Number.isSafeInteger(value) || !INTEGER.test(digits) ? value : BigInt(digits);
  });
}

/** Writes what `parse` has read. */
export function stringify(value, indent) {
  const exact = (_, part) => (typeof part === "bigint" ? JSON.rawJSON(String(part)) : part);
  return JSON.stringify(value, exact, indent);
}
