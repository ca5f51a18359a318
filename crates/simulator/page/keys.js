// Keys: masked, except one that was just created or revealed.

import { get, send } from "./api.js";
import { useLive } from "./live.js";
import { Button, Field, Form, html, Table } from "./ui.js";
import { useState } from "./vendor/hooks.js";

export function Keys() {
  const found = useLive(["accounts"], () => get("/api/organizations"));
  const [created, setCreated] = useState(null);
  // By the key as it is listed, because another one can have the same id after a reset.
  const [revealed, setRevealed] = useState({});
  const projects = (found?.organizations ?? []).flatMap((organization) =>
    organization.projects.map((project) => ({ organization, project })),
  );

  async function create({ project: place, name, key: own }) {
    const [organization, project] = JSON.parse(place).map(encodeURIComponent);
    const path = `/api/organizations/${organization}/projects/${project}/keys`;
    setCreated(await send("POST", path, { name, key: own || null }));
  }

  const rows = projects.flatMap(({ organization, project }) =>
    project.keys.map((key) => {
      const listed = JSON.stringify(key);
      const path = `/api/keys/${encodeURIComponent(key.id)}`;
      const reveal = async () => {
        const { key: whole } = await send("POST", `${path}/reveal`);
        setRevealed((others) => ({ ...others, [listed]: whole }));
      };
      const actions = html`
        <span class="row">
          <${Button} aria-label=${`Reveal ${key.name}`} disabled=${!key.can_be_revealed}
            click=${reveal}>Reveal<//>
          <${Button} class="danger" aria-label=${`Revoke ${key.name}`}
            click=${() => send("DELETE", path)}>Revoke<//>
        </span>
      `;
      const shown = html`<code>${revealed[listed] ?? key.masked}</code>`;
      return [listed, key.name, organization.name, project.name, shown, actions];
    }),
  );
  const options = projects.map(({ organization, project }) => [
    JSON.stringify([organization.id, project.id]),
    `${organization.name} / ${project.name}`,
  ]);
  return html`
    <p class="note">The key in the header x-key assigns a request to the key's project.</p>
    <${Table} caption="All keys" columns=${["Name", "Organization", "Project", "Key", ""]}
      rows=${found && rows} />
    <p class="made" role="status">
      ${created && html`The new key ${created.id}, shown only once: <code>${created.key}</code>`}
    </p>
    <${Form} heading=${html`<h3>New key</h3>`} action="Create key" submit=${create}>
      <${Field} label="Project" name="project" options=${options} />
      <${Field} label="Name" name="name" required />
      <${Field} label="Key" name="key" placeholder="random" />
    <//>
  `;
}
