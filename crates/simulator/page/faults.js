// Faults: presets, the active rules, and a switch for each fault.

import { get, send } from "./api.js";
import { count, times } from "./format.js";
import { useLive } from "./live.js";
import { Presets } from "./presets.js";
import { Switches } from "./switches.js";
import { Button, Field, html, Table, useAttempt } from "./ui.js";

function RuleForm() {
  const [error, attempt] = useAttempt();
  const add = attempt(async ({ target: form }) => {
    await send("POST", "/api/faults", { rule: form.elements.rule.value.trim() });
    form.reset();
  });
  return html`
    <form class="row" onSubmit=${add}>
      <${Field} label="Rule" name="rule" required placeholder="html-502@poll:0.1" error=${error}
        hint="name[@place][=value][:often]" />
      <button type="submit">Add rule</button>
      <${Button} class="danger" click=${() => send("DELETE", "/api/faults")}>Remove all rules<//>
    </form>
  `;
}

function rows(rules) {
  return rules.map(({ id, text, applied, left }) => [
    id,
    html`<code>${text}</code>`,
    times(applied),
    left === null ? "no limit" : `${count(left)} more`,
    html`
      <${Button} class="danger" aria-label=${`Remove ${text}`}
        click=${() => send("DELETE", `/api/faults/${id}`)}>Remove<//>
    `,
  ]);
}

export function Faults() {
  const found = useLive(["faults"], () => get("/api/faults"));
  const { known, rules, applied } = found ?? { known: [], rules: [], applied: {} };
  return html`
    <p class="note">
      A rule applies a fault to all requests. One request can have a fault by a word in double
      brackets in its prompt, <code>[[html-502]]</code>, or by its header${" "}
      <code>x-simulator-fault</code>.
    </p>
    <h3>Presets</h3>
    <${Presets} rules=${rules} />
    <h3>Rules</h3>
    <div class="rules">
      <${Table} caption="Rules" columns=${["Rule", "Applied", "Left", ""]}
        rows=${found && rows(rules)}
        none="No rules. Faults apply only to requests that name them." />
    </div>
    <${RuleForm} />
    <h3>Switches</h3>
    <${Switches} known=${known} rules=${rules} applied=${applied} />
  `;
}
