// Credits and limits of organizations and projects, permissions, and the logs.

import { actingUser, get, send } from "./api.js";
import { credits, moment, taskHref, words } from "./format.js";
import { useLive } from "./live.js";
import { Organization } from "./organization.js";
import { Field, Form, html, Loading, Table } from "./ui.js";

/** The form to act as a user. */
function Acting({ organizations }) {
  const users = organizations.flatMap(({ owner, members }) => [
    owner,
    ...members.map((member) => member.user),
  ]);
  return html`
    <${Form} action="Act" keepsValues submit=${({ acting }) => actingUser.set(acting.trim())}>
      <${Field} label="Act as user" name="acting" defaultValue=${actingUser.get()}
        placeholder="operator" list="users" />
      <datalist id="users">
        ${[...new Set(users)].map((user) => html`<option value=${user} />`)}
      </datalist>
    <//>
    <p class="note">
      Empty means the simulator's operator, who may do everything. Use this to try out permissions;
      it is not a protection.
    </p>
  `;
}

/** The forms to transfer credits and to create organizations. */
function Exchange({ organizations }) {
  const options = organizations.map(({ id, name }) => [id, name]);
  const transfer = ({ from, to, amount }) =>
    send("POST", "/api/transfers", { from, to, amount: Number(amount) });
  const create = ({ name, owner }) =>
    send("POST", "/api/organizations", { name, owner: owner || null });
  return html`
    <div class="panels">
      <${Form} heading=${html`<h3>Transfer credits</h3>`} action="Transfer" submit=${transfer}
        note="Between organizations of the same owner.">
        <${Field} label="From" name="from" options=${options} />
        <${Field} label="To" name="to" options=${options} />
        <${Field} label="Credits" name="amount" type="number" min="0.01" step="0.01" required />
      <//>
      <${Form} heading=${html`<h3>New organization</h3>`} action="Create organization"
        submit=${create} note="A new organization has no credits.">
        <${Field} label="Name" name="name" required />
        <${Field} label="Owner" name="owner" defaultValue="owner" />
      <//>
    </div>
  `;
}

function ledgerRow({ number, unix_seconds: at, from, to, amount, task, project }) {
  const link = task && html`<a href=${taskHref(task)}>${project}</a>`;
  return [number, moment(at), from, to, credits(amount), link];
}

function auditRow({ number, unix_seconds: at, actor, organization, action, done }) {
  return [number, moment(at), actor, organization, action, done ? "done" : "rejected"];
}

function roleRow({ role, permissions: own }, all) {
  return [role, words(role), ...all.map((one) => (own.includes(one) ? "yes" : "–"))];
}

export function Accounts() {
  const found = useLive(["accounts"], async () => {
    const paths = ["organizations", "ledger?limit=20", "audit?limit=20", "roles"];
    const [accounts, ledger, audit, roles] = await Promise.all(
      paths.map((path) => get(`/api/${path}`)),
    );
    return { ...accounts, ledger, audit, roles };
  });
  if (!found) return html`<${Loading} />`;
  const { organizations, max_active_tasks: cap, ledger, audit, roles } = found;
  return html`
    <${Acting} organizations=${organizations} />
    <div class="organizations">
      ${organizations.map(
        (one) => html`
          <${Organization} key=${one.id} organization=${one} roles=${roles.roles} cap=${cap} />
        `,
      )}
    </div>
    <${Exchange} organizations=${organizations} />
    <h3>Ledger</h3>
    <${Table} caption="Ledger" columns=${["Time", "From", "To", "Credits", "Project"]}
      rows=${ledger.entries.map(ledgerRow)} />
    <h3>Audit log</h3>
    <${Table} caption="Audit log" columns=${["Time", "User", "Organization", "Action", "Outcome"]}
      rows=${audit.entries.map(auditRow)} />
    <details>
      <summary>Permissions of each role</summary>
      <${Table} caption="Permissions of each role"
        columns=${["Role", ...roles.permissions.map(words)]}
        rows=${roles.roles.map((role) => roleRow(role, roles.permissions))} />
    </details>
  `;
}
