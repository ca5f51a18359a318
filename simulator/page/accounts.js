// Credits and limits of organizations and projects, permissions, and the logs.

import { actingUser, attempt, get, send } from "./api.js";
import { field, h, redraw, select, setOptions, table } from "./dom.js";
import { credits, moment, words } from "./format.js";
import { organizationPanel } from "./organization.js";

/** The forms to transfer credits and to create organizations. */
function exchange(read) {
  const from = select({ name: "from" }, []);
  const to = select({ name: "to" }, []);
  const amount = h("input", { type: "number", min: "0.01", step: "0.01", required: true });
  const name = h("input", { required: true, autocomplete: "off" });
  const owner = h("input", { autocomplete: "off", value: "owner" });
  const element = h(
    "div",
    { class: "panels" },
    h(
      "form",
      {
        class: "panel",
        submit: attempt(async () => {
          await send("POST", "/api/transfers", {
            from: from.value,
            to: to.value,
            amount: amount.valueAsNumber,
          });
          await read(true);
        }),
      },
      h("h3", {}, "Transfer credits"),
      h("p", { class: "note" }, "Between organizations of the same owner."),
      h(
        "div",
        { class: "row" },
        field("From", from),
        field("To", to),
        field("Credits", amount),
        h("button", { type: "submit" }, "Transfer"),
      ),
    ),
    h(
      "form",
      {
        class: "panel",
        submit: attempt(async () => {
          await send("POST", "/api/organizations", {
            name: name.value,
            owner: owner.value || null,
          });
          await read(true);
        }),
      },
      h("h3", {}, "New organization"),
      h("p", { class: "note" }, "A new organization has no credits."),
      h(
        "div",
        { class: "row" },
        field("Name", name),
        field("Owner", owner),
        h("button", { type: "submit" }, "Create organization"),
      ),
    ),
  );
  const update = (organizations) => {
    const options = organizations.map(({ id, name: shown }) => [id, shown]);
    setOptions(from, options);
    setOptions(to, options);
  };
  return { element, update };
}

/** The form to act as a user. */
function acting(read) {
  const user = h("input", {
    name: "acting",
    value: actingUser.get(),
    placeholder: "operator",
    autocomplete: "off",
    list: "users",
  });
  const users = h("datalist", { id: "users" });
  const element = h(
    "form",
    {
      class: "row",
      submit: attempt(async () => {
        actingUser.set(user.value.trim());
        await read(true);
      }),
    },
    field("Act as user", user),
    users,
    h("button", { type: "submit" }, "Act"),
    h(
      "p",
      { class: "note" },
      "Empty means the simulator's operator, who may do everything. Use this to try out " +
        "permissions; it is not a protection.",
    ),
  );
  const update = (organizations) => {
    const names = new Set(
      organizations.flatMap(({ owner, members }) => [
        owner,
        ...members.map((member) => member.user),
      ]),
    );
    users.replaceChildren(...[...names].map((value) => h("option", { value })));
  };
  return { element, update };
}

function permissions({ roles, permissions: all }) {
  const rows = roles.map(({ role, permissions: own }) => [
    words(role),
    ...all.map((one) => (own.includes(one) ? "yes" : "–")),
  ]);
  return table("Permissions of each role", ["Role", ...all.map(words)], rows);
}

function mount(root) {
  let permissionTable = null;
  const list = h("div", { class: "organizations" });
  const audit = h("div");
  const ledger = h("div");
  const roles = h("div");
  const who = acting(read);
  const between = exchange(read);
  root.append(
    who.element,
    list,
    between.element,
    h("h3", {}, "Ledger"),
    ledger,
    h("h3", {}, "Audit log"),
    audit,
    h("details", {}, h("summary", {}, "Permissions of each role"), roles),
  );

  /** Redraws changed organizations, unless they are focused and `force` is not set. */
  async function read(force = false) {
    permissionTable ??= await get("/api/roles");
    const [{ organizations, max_active_tasks: cap }, { entries: done }, { entries: moved }] =
      await Promise.all([
        get("/api/organizations"),
        get("/api/audit?limit=20"),
        get("/api/ledger?limit=20"),
      ]);
    if (force === true || !list.contains(document.activeElement)) {
      const open = [...list.querySelectorAll("details")].map((one) => one.open);
      const context = { roles: permissionTable.roles.map(({ role }) => role), cap, read };
      redraw(list, [organizations, cap], () =>
        organizations.length === 0
          ? h("p", { class: "none" }, "This user cannot view any organizations.")
          : organizations.map((one) => organizationPanel(one, context)),
      );
      [...list.querySelectorAll("details")].forEach((one, place) => {
        one.open = open[place] ?? false;
      });
    }
    who.update(organizations);
    between.update(organizations);
    redraw(roles, permissionTable, () => permissions(permissionTable));
    redraw(ledger, moved, () =>
      table(
        "Ledger",
        ["Time", "From", "To", "Credits", "Project"],
        moved.map((entry) => [
          moment(entry.unix_seconds),
          entry.from,
          entry.to,
          credits(entry.amount),
          entry.task
            ? h("a", { href: `#/tasks/${encodeURIComponent(entry.task)}` }, entry.project)
            : "",
        ]),
      ),
    );
    redraw(audit, done, () =>
      table(
        "Audit log",
        ["Time", "User", "Organization", "Action", "Outcome"],
        done.map((entry) => [
          moment(entry.unix_seconds),
          entry.actor,
          entry.organization ?? "",
          entry.action,
          entry.done ? "done" : "rejected",
        ]),
      ),
    );
  }
  return { read };
}

export const accounts = { title: "Credits and limits", parts: ["accounts"], mount };
