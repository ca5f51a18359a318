// A switch for each fault, in groups by the place where the fault applies.

import { send } from "./api.js";
import { attemptAt, button, field, h, keyed, select, setError, setText } from "./dom.js";
import { times } from "./format.js";

const OFTEN = [
  ["always", "always"],
  ["once", "once"],
  ["times", "a number of times"],
  ["chance", "with a probability"],
];

const GROUPS = [
  ["Any request", ({ places }) => places.length > 1],
  ["Submissions", ({ places }) => String(places) === "submission"],
  ["Polls", ({ places }) => String(places) === "poll"],
  ["Deliveries", ({ places }) => String(places) === "delivery"],
  ["Webhooks", ({ places }) => String(places) === "webhook"],
];

/** The rule in the simulator's notation: `name[@place][=value][:often]`. */
function notation(name, { place, value, often, number }) {
  const tail = {
    always: "always",
    once: "once",
    times: `${number}x`,
    chance: Number(number).toFixed(3),
  }[often];
  return `${name}${place ? `@${place}` : ""}${value ? `=${value}` : ""}:${tail}`;
}

const nameOf = (rule) => rule.text.split(/[@=:]/)[0];
const plain = (text) => text.replaceAll("`", "");

/** The fields of a switch, with the limits of the number according to what it means. */
function makeFields(fault) {
  const places = [["", "everywhere"], ...fault.places.map((one) => [one, one])];
  const place = select({ name: "place" }, places, "");
  const value = h("input", { name: "value", autocomplete: "off" });
  const often = select({ name: "often" }, OFTEN, "always");
  const number = h("input", { name: "number", type: "number", required: true });
  const numbered = field("", number);
  const follow = () => {
    const isChance = often.value === "chance";
    numbered.hidden = !isChance && often.value !== "times";
    numbered.firstChild.textContent = isChance ? "Probability" : "Times";
    const limits = isChance
      ? { min: "0", max: "1", step: "any", value: "0.25" }
      : { min: "1", max: "1000000000", step: "1", value: "3" };
    Object.assign(number, limits);
    setError(number, "");
  };
  often.addEventListener("change", follow);
  follow();
  return { place, value, often, number, numbered };
}

function makeToggle(fault, fields, context) {
  const { place, value, often, number, numbered } = fields;
  const switchOff = async () => {
    const rules = context.rules.filter((rule) => nameOf(rule) === fault.name);
    for (const rule of rules) await send("DELETE", `/api/faults/${rule.id}`);
  };
  const switchOn = async () => {
    if (!numbered.hidden && !number.checkValidity()) {
      throw Object.assign(new Error(number.validationMessage), { control: number });
    }
    const rule = notation(fault.name, {
      place: place.value,
      value: value.value.trim(),
      often: often.value,
      number: number.value,
    });
    await send("POST", "/api/faults", { rule });
  };
  const toggle = button("", {
    class: "switch",
    role: "switch",
    "aria-checked": "false",
    "aria-label": fault.name,
    click: attemptAt([fault.value ? value : often, number], async () => {
      const isOn = toggle.getAttribute("aria-checked") === "true";
      await (isOn ? switchOff() : switchOn());
      await context.read();
    }),
  });
  return toggle;
}

function makeSwitch(fault, context) {
  const fields = makeFields(fault);
  return h(
    "li",
    { class: "fault" },
    h(
      "div",
      { class: "what" },
      makeToggle(fault, fields, context),
      h(
        "div",
        {},
        h("h5", {}, h("code", {}, fault.name)),
        h("p", { class: "note" }, plain(fault.effect)),
        h("p", { class: "note applied" }),
      ),
    ),
    h(
      "div",
      { class: "row" },
      fault.places.length > 1 ? field("Where", fields.place) : null,
      fault.value ? field("Value", fields.value, plain(fault.value)) : null,
      field("How often", fields.often),
      fields.numbered,
    ),
  );
}

function updateSwitch(item, fault, { rules, applied }) {
  const isOn = rules.some((rule) => nameOf(rule) === fault.name);
  const toggle = item.querySelector(".switch");
  if (toggle.getAttribute("aria-checked") !== String(isOn))
    toggle.setAttribute("aria-checked", isOn);
  setText(toggle, isOn ? "on" : "off");
  const number = applied[fault.name] ?? 0;
  setText(item.querySelector(".applied"), number > 0 ? `applied ${times(number)}` : "");
}

/** The groups, and a function that updates them. */
export function switches(context) {
  const groups = GROUPS.map(([title, includes]) => {
    const list = h("ul", { class: "faults", "aria-label": `Faults: ${title}` });
    return { title, includes, list };
  });
  const element = h(
    "div",
    { class: "groups" },
    groups.map(({ title, list }) => h("div", { class: "group" }, h("h4", {}, title), list)),
  );
  const update = (known) => {
    for (const { includes, list } of groups) {
      keyed(
        list,
        known.filter(includes),
        (fault) => fault.name,
        (fault) => makeSwitch(fault, context),
        (item, fault) => updateSwitch(item, fault, context),
      );
    }
  };
  return { element, update };
}
