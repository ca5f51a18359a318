// Credits and limits, by organization and project; who may do what, and what was done.

import { actingUser, attempt, get, send } from "./api.js";
import { button, field, h, select, setOptions, table } from "./dom.js";
import { count, credits, moment } from "./format.js";
import { projectPanel } from "./project.js";

const words = (name) => name.replaceAll("-", " ");

function organizationPanel(organization, { roles, cap, read }) {
  const path = `/api/organizations/${encodeURIComponent(organization.id)}`;
  const change = (method, rest, body) => attempt(async (event) => {
    await send(method, path + rest(event), body(event));
    await read(true);
  });
  const amount = h("input", { type: "number", min: "0.01", step: "0.01", required: true });
  const project = h("input", { required: true, autocomplete: "off" });
  const user = h("input", { required: true, autocomplete: "off" });
  const role = select({}, roles.map((name) => [name, words(name)]), "developer");
  const place = select({}, [["", "the organization"], ...organization.projects.map(({ id, name }) => [id, name])], "");
  const members = organization.members.map((member) => [
    member.user,
    [words(member.role), ...Object.entries(member.projects).map(([id, own]) => `${words(own)} in ${id}`)].join(", "),
    button("Remove", { class: "danger", "aria-label": `Remove ${member.user}`,
      click: change("DELETE", () => `/members/${encodeURIComponent(member.user)}`, () => ({})) }),
  ]);
  return h("section", { class: "organization", "aria-label": organization.name },
    h("header", { class: "row" }, h("h3", {}, organization.name),
      h("p", { class: "balance" }, h("strong", {}, credits(organization.balance)), " credits"),
      h("p", { class: "note" }, "owner ", h("code", {}, organization.owner), ", id ", h("code", {}, organization.id))),
    h("div", { class: "panels" }, organization.projects.map((one) => projectPanel(path, one, cap, read))),
    h("details", {}, h("summary", {}, `Members (${count(organization.members.length)}), credits and new projects`),
      h("div", { class: "panels" },
        h("div", { class: "panel" }, h("h4", {}, "Members"),
          table(`Members of ${organization.name}`, ["User", "Roles", ""], members, "None but the owner."),
          h("form", { class: "row", submit: change("PUT", () => `/members/${encodeURIComponent(user.value)}`,
            () => ({ role: role.value, project: place.value || null })) },
            field("User", user), field("Role", role), field("In", place), h("button", { type: "submit" }, "Give the role"))),
        h("div", { class: "panel" }, h("h4", {}, "Add credits"),
          h("form", { class: "row", submit: change("POST", () => "/credits", () => ({ amount: amount.valueAsNumber })) },
            field("Credits", amount), h("button", { type: "submit" }, "Add"))),
        h("div", { class: "panel" }, h("h4", {}, "New project"),
          h("form", { class: "row", submit: change("POST", () => "/projects", () => ({ name: project.value })) },
            field("Name", project), h("button", { type: "submit" }, "Make the project"))))));
}

/** Credits between two organizations, and new organizations. */
function exchange(read) {
  const from = select({ name: "from" }, []);
  const to = select({ name: "to" }, []);
  const amount = h("input", { type: "number", min: "0.01", step: "0.01", required: true });
  const name = h("input", { required: true, autocomplete: "off" });
  const owner = h("input", { autocomplete: "off", value: "owner" });
  const element = h("div", { class: "panels" },
    h("form", { class: "panel", submit: attempt(async () => {
      await send("POST", "/api/transfers", { from: from.value, to: to.value, amount: amount.valueAsNumber });
      await read(true);
    }) }, h("h3", {}, "Transfer credits"), h("p", { class: "note" }, "Between organizations of one owner."),
      h("div", { class: "row" }, field("From", from), field("To", to), field("Credits", amount),
        h("button", { type: "submit" }, "Transfer"))),
    h("form", { class: "panel", submit: attempt(async () => {
      await send("POST", "/api/organizations", { name: name.value, owner: owner.value || null });
      await read(true);
    }) }, h("h3", {}, "New organization"), h("p", { class: "note" }, "It begins without credits."),
      h("div", { class: "row" }, field("Name", name), field("Owner", owner), h("button", { type: "submit" }, "Make the organization"))));
  const update = (organizations) => {
    const options = organizations.map(({ id, name: shown }) => [id, shown]);
    setOptions(from, options);
    setOptions(to, options);
  };
  return { element, update };
}

/** Who acts, from here on. */
function acting(read) {
  const user = h("input", { name: "acting", value: actingUser.get(), placeholder: "operator", autocomplete: "off", list: "users" });
  const users = h("datalist", { id: "users" });
  const element = h("form", { class: "row", submit: attempt(async () => {
    actingUser.set(user.value.trim());
    await read(true);
  }) }, field("Act as user", user), users, h("button", { type: "submit" }, "Act"),
    h("p", { class: "note" }, "Without a name it is the simulator's operator, who may do everything. It tries out the table of permissions; it protects nothing."));
  const update = (organizations) => {
    const names = new Set(organizations.flatMap(({ owner, members }) => [owner, ...members.map((member) => member.user)]));
    users.replaceChildren(...[...names].map((value) => h("option", { value })));
  };
  return { element, update };
}

function permissions({ roles, permissions: all }) {
  const rows = roles.map(({ role, permissions: own }) => [words(role), ...all.map((one) => (own.includes(one) ? "yes" : "–"))]);
  return table("What each role permits", ["Role", ...all.map(words)], rows);
}

function mount(root) {
  let table_ = null;
  let drawn = "";
  const list = h("div", { class: "organizations" });
  const audit = h("div");
  const ledger = h("div");
  const roles = h("div");
  const who = acting(read);
  const between = exchange(read);
  root.append(who.element, list, between.element,
    h("h3", {}, "Ledger"), ledger, h("h3", {}, "Audit log"), audit,
    h("details", {}, h("summary", {}, "What each role permits"), roles));

  /** Redraws where something changed; `anew` also where somebody is typing, who has then sent it. */
  async function read(anew = false) {
    table_ ??= await get("/api/roles");
    const [{ organizations, max_active_tasks: cap }, { entries: done }, { entries: moved }] =
      await Promise.all([get("/api/organizations"), get("/api/audit?limit=20"), get("/api/ledger?limit=20")]);
    const text = JSON.stringify([organizations, cap]);
    if (text !== drawn && (anew === true || !list.contains(document.activeElement))) {
      drawn = text;
      const open = [...list.querySelectorAll("details")].map((one) => one.open);
      const context = { roles: table_.roles.map(({ role }) => role), cap, read };
      list.replaceChildren(...organizations.map((one) => organizationPanel(one, context)));
      [...list.querySelectorAll("details")].forEach((one, place) => { one.open = open[place] ?? false; });
      if (organizations.length === 0) list.append(h("p", { class: "none" }, "This user sees no organization."));
    }
    who.update(organizations);
    between.update(organizations);
    roles.replaceChildren(permissions(table_));
    ledger.replaceChildren(table("Ledger", ["When", "From", "To", "Credits", "For"],
      moved.map((entry) => [moment(entry.unix_seconds), entry.from, entry.to, credits(entry.amount),
        entry.task ? h("a", { href: `#/tasks/${encodeURIComponent(entry.task)}` }, entry.project) : ""])));
    audit.replaceChildren(table("Audit log", ["When", "Who", "Organization", "What", "Outcome"],
      done.map((entry) => [moment(entry.unix_seconds), entry.actor, entry.organization, entry.action,
        entry.done ? "done" : "refused"])));
  }
  return { read };
}

export const accounts = { title: "Credits and limits", parts: ["accounts"], mount };
