// Finetunes, which requests name in `finetune_id`.

import { get, send } from "./api.js";
import { useLive } from "./live.js";
import { Button, Field, Form, html, Table } from "./ui.js";

const path = (organization, name) =>
  `/api/organizations/${encodeURIComponent(organization)}/finetunes/${encodeURIComponent(name)}`;

function actions(organization, { name, shared }) {
  const label = shared ? "Stop sharing" : "Share";
  const share = () => send("PUT", path(organization, name), { shared: !shared });
  const remove = () => send("DELETE", path(organization, name));
  return html`
    <span class="row">
      <${Button} aria-label=${`${label} ${name}`} click=${share}>${label}<//>
      <${Button} class="danger" aria-label=${`Remove ${name}`} click=${remove}>Remove<//>
    </span>
  `;
}

export function Finetunes() {
  const found = useLive(["accounts"], () => get("/api/organizations"));
  const organizations = found?.organizations ?? [];
  const rows = organizations.flatMap(({ id, name: shown, finetunes }) =>
    finetunes.map((finetune) => [
      `${id}/${finetune.name}`,
      html`<code>${finetune.name}</code>`,
      shown,
      finetune.shared ? html`<code>${id}/${finetune.name}</code>` : "not shared",
      actions(id, finetune),
    ]),
  );
  const add = ({ organization, name, shared }) =>
    send("PUT", path(organization, name), { shared: shared !== undefined });
  return html`
    <p class="note">
      Fine-tuned models (LoRAs), which requests name in finetune_id. Other organizations can
      use a shared one with the organization's id as a prefix.
    </p>
    <${Table} caption="All finetunes" columns=${["Name", "Organization", "For others", ""]}
      rows=${found && rows} />
    <${Form} heading=${html`<h3>New finetune</h3>`} action="Add" submit=${add}>
      <${Field} label="Organization" name="organization"
        options=${organizations.map(({ id, name }) => [id, name])} />
      <${Field} label="Name" name="name" required />
      <label class="check"><input type="checkbox" name="shared" />shared</label>
    <//>
  `;
}
