// An organization: its projects, members and credits.

import { send } from "./api.js";
import { count, credits, words } from "./format.js";
import { Project } from "./project.js";
import { Button, Field, Form, html, Table } from "./ui.js";

function Members({ path, organization: { name, members, projects }, roles }) {
  const memberPath = (user) => `${path}/members/${encodeURIComponent(user)}`;
  const rows = members.map(({ user, role, projects: own }) => [
    user,
    user,
    [words(role), ...Object.entries(own).map(([id, one]) => `${words(one)} in ${id}`)].join(", "),
    html`
      <${Button} class="danger" aria-label=${`Remove ${user}`}
        click=${() => send("DELETE", memberPath(user))}>Remove<//>
    `,
  ]);
  const places = [["", "the organization"], ...projects.map(({ id, name }) => [id, name])];
  const assign = ({ user, role, project }) =>
    send("PUT", memberPath(user), { role, project: project || null });
  return html`
    <div class="panel">
      <h4>Members</h4>
      <${Table} caption=${`Members of ${name}`} columns=${["User", "Roles", ""]} rows=${rows}
        none="Only the owner." />
      <${Form} action="Assign role" submit=${assign}>
        <${Field} label="User" name="user" required />
        <${Field} label="Role" name="role" chosen="developer"
          options=${roles.map(({ role }) => [role, words(role)])} />
        <${Field} label="In" name="project" options=${places} />
      <//>
    </div>
  `;
}

export function Organization({ organization, roles, cap }) {
  const { id, name, owner, balance, members, projects } = organization;
  const path = `/api/organizations/${encodeURIComponent(id)}`;
  const add = ({ amount }) => send("POST", `${path}/credits`, { amount: Number(amount) });
  const create = (project) => send("POST", `${path}/projects`, project);
  return html`
    <section class="organization" aria-label=${name}>
      <header class="row">
        <h3>${name}</h3>
        <p class="balance"><strong>${credits(balance)}</strong> credits left</p>
        <p class="note">owner <code>${owner}</code>, id <code>${id}</code></p>
      </header>
      <div class="panels">
        ${projects.map(
          (one) => html`<${Project} key=${one.id} project=${one} under=${path} cap=${cap} />`,
        )}
      </div>
      <details>
        <summary>Members (${count(members.length)}), credits and new projects</summary>
        <div class="panels">
          <${Members} path=${path} organization=${organization} roles=${roles} />
          <${Form} heading=${html`<h4>Add credits</h4>`} action="Add" submit=${add}>
            <${Field} label="Credits" name="amount" type="number" min="0.01" step="0.01" required />
          <//>
          <${Form} heading=${html`<h4>New project</h4>`} action="Create project" submit=${create}>
            <${Field} label="Name" name="name" required />
          <//>
        </div>
      </details>
    </section>
  `;
}
