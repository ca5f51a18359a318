// Faults: presets, the active rules, and a switch for each fault.

import { attempt, get, send } from "./api.js";
import { attemptAt, button, field, h, redraw, table } from "./dom.js";
import { count, times } from "./format.js";
import { presets } from "./presets.js";
import { switches } from "./switches.js";

function ruleForm(read) {
  const text = h("input", {
    name: "rule",
    required: true,
    autocomplete: "off",
    placeholder: "html-502@poll:0.1",
  });
  return h(
    "form",
    {
      class: "row",
      submit: attemptAt([text], async () => {
        await send("POST", "/api/faults", { rule: text.value.trim() });
        text.value = "";
        await read();
      }),
    },
    field("Rule", text, "name[@place][=value][:often]"),
    h("button", { type: "submit" }, "Add rule"),
    button("Remove all rules", {
      class: "danger",
      click: attempt(async () => {
        await send("DELETE", "/api/faults");
        await read();
      }),
    }),
  );
}

function ruleTable(rules, read) {
  const row = (rule) => [
    h("code", {}, rule.text),
    times(rule.applied),
    rule.left === null ? "no limit" : `${count(rule.left)} more`,
    button("Remove", {
      class: "danger",
      "aria-label": `Remove ${rule.text}`,
      click: attempt(async () => {
        await send("DELETE", `/api/faults/${rule.id}`);
        await read();
      }),
    }),
  ];
  return table(
    "Rules",
    ["Rule", "Applied", "Left", ""],
    rules.map(row),
    "No rules. Faults apply only to requests that name them.",
  );
}

function mount(root) {
  const rules = h("div", { class: "rules" });
  const context = { rules: [], applied: {}, read };
  const situations = presets(context);
  const single = switches(context);
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
    h("h3", {}, "Presets"),
    situations.element,
    h("h3", {}, "Rules"),
    rules,
    ruleForm(read),
    h("h3", {}, "Switches"),
    single.element,
  );

  async function read() {
    const { known, rules: held, applied } = await get("/api/faults");
    context.rules = held;
    context.applied = applied;
    situations.update();
    single.update(known);
    redraw(rules, held, () => ruleTable(held, read));
  }
  return { read };
}

export const faults = { title: "Faults", parts: ["faults"], mount };
