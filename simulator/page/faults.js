// Faults: a switch for each fault, and the rules.

import { attempt, get, send } from "./api.js";
import { button, field, h, keyed, redraw, select, setText, table } from "./dom.js";
import { count } from "./format.js";

const OFTEN = [
  ["always", "always"],
  ["once", "once"],
  ["times", "a number of times"],
  ["chance", "with a probability"],
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

function makeSwitch(fault, context) {
  const place = select(
    { name: "place" },
    [["", "everywhere"], ...fault.places.map((one) => [one, one])],
    "",
  );
  const value = h("input", { name: "value", autocomplete: "off" });
  const often = select({ name: "often" }, OFTEN, "always");
  const number = h("input", { name: "number", type: "number", min: "0", step: "any", value: "3" });
  const numbered = field("", number);
  const follow = () => {
    numbered.hidden = !["times", "chance"].includes(often.value);
    numbered.firstChild.textContent = often.value === "chance" ? "Probability" : "Times";
    number.value = often.value === "chance" ? "0.25" : "3";
  };
  often.addEventListener("change", follow);
  follow();
  const toggle = button("", {
    class: "switch",
    role: "switch",
    "aria-checked": "false",
    "aria-label": fault.name,
    click: attempt(async () => {
      if (toggle.getAttribute("aria-checked") === "true") {
        const rules = context.rules.filter((rule) => nameOf(rule) === fault.name);
        for (const rule of rules) await send("DELETE", `/api/faults/${rule.id}`);
      } else {
        const rule = notation(fault.name, {
          place: place.value,
          value: value.value.trim(),
          often: often.value,
          number: number.value,
        });
        await send("POST", "/api/faults", { rule });
      }
      await context.read();
    }),
  });
  return h(
    "li",
    { class: "fault" },
    h(
      "div",
      { class: "what" },
      toggle,
      h(
        "div",
        {},
        h("h4", {}, h("code", {}, fault.name)),
        h("p", { class: "note" }, fault.effect.replaceAll("`", "")),
      ),
    ),
    h(
      "div",
      { class: "row" },
      fault.places.length > 1
        ? field("Where", place)
        : h("p", { class: "field" }, h("span", {}, "Where"), fault.places[0]),
      fault.value ? field("Value", value, fault.value.replaceAll("`", "")) : null,
      field("How often", often),
      numbered,
    ),
  );
}

function updateSwitch(item, fault, { rules, applied }) {
  const isOn = rules.some((rule) => nameOf(rule) === fault.name);
  const toggle = item.querySelector(".switch");
  if (toggle.getAttribute("aria-checked") !== String(isOn))
    toggle.setAttribute("aria-checked", isOn);
  setText(toggle, isOn ? "on" : "off");
  item.dataset.applied = applied[fault.name] ?? 0;
}

function mount(root) {
  const rules = h("div", { class: "rules" });
  const text = h("input", {
    name: "rule",
    required: true,
    autocomplete: "off",
    placeholder: "html-502@poll:0.1",
  });
  const list = h("ul", { class: "faults", "aria-label": "Faults" });
  const context = { rules: [], applied: {}, read };
  root.append(
    h(
      "p",
      { class: "note" },
      "A rule applies a fault to all requests. One request can have a fault by a word in " +
        "double brackets in its prompt, ",
      h("code", {}, "[[html-502]]"),
      ", or by its header ",
      h("code", {}, "x-simulator-fault"),
      ".",
    ),
    h("h3", {}, "Rules"),
    rules,
    h(
      "form",
      {
        class: "row",
        submit: attempt(async () => {
          await send("POST", "/api/faults", { rule: text.value.trim() });
          text.value = "";
          await read();
        }),
      },
      field("Rule", text, "name[@place][=value][:often]"),
      h("button", { type: "submit" }, "Add rule"),
      button("Remove all", {
        class: "danger",
        click: attempt(async () => {
          await send("DELETE", "/api/faults");
          await read();
        }),
      }),
    ),
    h("h3", {}, "Switches"),
    list,
  );

  async function read() {
    const { known, rules: held, applied } = await get("/api/faults");
    context.rules = held;
    context.applied = applied;
    keyed(
      list,
      known,
      (fault) => fault.name,
      (fault) => makeSwitch(fault, context),
      (item, fault) => updateSwitch(item, fault, context),
    );
    redraw(rules, held, () =>
      table(
        "Rules",
        ["Rule", "Applied", "Left", ""],
        held.map((rule) => [
          h("code", {}, rule.text),
          count(rule.applied),
          rule.left === null ? "–" : count(rule.left),
          button("Remove", {
            class: "danger",
            "aria-label": `Remove ${rule.text}`,
            click: attempt(async () => {
              await send("DELETE", `/api/faults/${rule.id}`);
              await read();
            }),
          }),
        ]),
        "No rules. Faults apply only to requests that name them.",
      ),
    );
  }
  return { read };
}

export const faults = { title: "Faults", parts: ["faults"], mount };
