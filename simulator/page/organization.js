// An organization: its projects, members and credits.

import { attempt, send } from "./api.js";
import { button, field, h, select, table } from "./dom.js";
import { count, credits, words } from "./format.js";
import { projectPanel } from "./project.js";

export function organizationPanel(organization, { roles, cap, read }) {
  const path = `/api/organizations/${encodeURIComponent(organization.id)}`;
  const change = (method, rest, body) =>
    attempt(async (event) => {
      await send(method, path + rest(event), body(event));
      await read(true);
    });
  const amount = h("input", { type: "number", min: "0.01", step: "0.01", required: true });
  const project = h("input", { required: true, autocomplete: "off" });
  const user = h("input", { required: true, autocomplete: "off" });
  const role = select(
    {},
    roles.map((name) => [name, words(name)]),
    "developer",
  );
  const place = select(
    {},
    [["", "the organization"], ...organization.projects.map(({ id, name }) => [id, name])],
    "",
  );
  const members = organization.members.map((member) => [
    member.user,
    [
      words(member.role),
      ...Object.entries(member.projects).map(([id, own]) => `${words(own)} in ${id}`),
    ].join(", "),
    button("Remove", {
      class: "danger",
      "aria-label": `Remove ${member.user}`,
      click: change(
        "DELETE",
        () => `/members/${encodeURIComponent(member.user)}`,
        () => ({}),
      ),
    }),
  ]);
  return h(
    "section",
    { class: "organization", "aria-label": organization.name },
    h(
      "header",
      { class: "row" },
      h("h3", {}, organization.name),
      h("p", { class: "balance" }, h("strong", {}, credits(organization.balance)), " credits left"),
      h(
        "p",
        { class: "note" },
        "owner ",
        h("code", {}, organization.owner),
        ", id ",
        h("code", {}, organization.id),
      ),
    ),
    h(
      "div",
      { class: "panels" },
      organization.projects.map((one) => projectPanel(path, one, cap, read)),
    ),
    h(
      "details",
      {},
      h("summary", {}, `Members (${count(organization.members.length)}), credits and new projects`),
      h(
        "div",
        { class: "panels" },
        h(
          "div",
          { class: "panel" },
          h("h4", {}, "Members"),
          table(
            `Members of ${organization.name}`,
            ["User", "Roles", ""],
            members,
            "Only the owner.",
          ),
          h(
            "form",
            {
              class: "row",
              submit: change(
                "PUT",
                () => `/members/${encodeURIComponent(user.value)}`,
                () => ({ role: role.value, project: place.value || null }),
              ),
            },
            field("User", user),
            field("Role", role),
            field("In", place),
            h("button", { type: "submit" }, "Assign role"),
          ),
        ),
        h(
          "div",
          { class: "panel" },
          h("h4", {}, "Add credits"),
          h(
            "form",
            {
              class: "row",
              submit: change(
                "POST",
                () => "/credits",
                () => ({ amount: amount.valueAsNumber }),
              ),
            },
            field("Credits", amount),
            h("button", { type: "submit" }, "Add"),
          ),
        ),
        h(
          "div",
          { class: "panel" },
          h("h4", {}, "New project"),
          h(
            "form",
            {
              class: "row",
              submit: change(
                "POST",
                () => "/projects",
                () => ({ name: project.value }),
              ),
            },
            field("Name", project),
            h("button", { type: "submit" }, "Create project"),
          ),
        ),
      ),
    ),
  );
}
