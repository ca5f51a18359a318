// Keys: masked, except one that was just created or revealed.

import { attempt, get, send } from "./api.js";
import { button, field, h, redraw, select, setOptions, table } from "./dom.js";

function mount(root) {
  const list = h("div");
  const where = select({ name: "project" }, []);
  const name = h("input", { name: "name", required: true, autocomplete: "off" });
  const own = h("input", { name: "key", autocomplete: "off", placeholder: "random" });
  const created = h("p", { class: "made", role: "status" });
  root.append(
    h(
      "p",
      { class: "note" },
      "The key in the header x-key assigns a request to the key's project.",
    ),
    list,
    created,
    h(
      "form",
      { class: "panel", submit: attempt(create) },
      h("h3", {}, "New key"),
      h(
        "div",
        { class: "row" },
        field("Project", where),
        field("Name", name),
        field("Key", own),
        h("button", { type: "submit" }, "Create key"),
      ),
    ),
  );

  async function create() {
    const [organization, project] = JSON.parse(where.value).map(encodeURIComponent);
    const path = `/api/organizations/${organization}/projects/${project}/keys`;
    const { id, key } = await send("POST", path, { name: name.value, key: own.value || null });
    created.replaceChildren(`The new key ${id}, shown only once: `, h("code", {}, key));
    name.value = own.value = "";
    await read();
  }

  async function read() {
    const { organizations } = await get("/api/organizations");
    const projects = organizations.flatMap((organization) =>
      organization.projects.map((project) => ({ organization, project })),
    );
    setOptions(
      where,
      projects.map(({ organization, project }) => [
        JSON.stringify([organization.id, project.id]),
        `${organization.name} / ${project.name}`,
      ]),
    );
    const rows = projects.flatMap(({ organization, project }) =>
      project.keys.map((key) => {
        const shown = h("code", {}, key.masked);
        return [
          key.name,
          organization.name,
          project.name,
          shown,
          h(
            "span",
            { class: "row" },
            button("Reveal", {
              "aria-label": `Reveal ${key.name}`,
              disabled: !key.can_be_revealed,
              click: attempt(async () => {
                shown.textContent = (
                  await send("POST", `/api/keys/${encodeURIComponent(key.id)}/reveal`)
                ).key;
              }),
            }),
            button("Revoke", {
              class: "danger",
              "aria-label": `Revoke ${key.name}`,
              click: attempt(async () => {
                await send("DELETE", `/api/keys/${encodeURIComponent(key.id)}`);
                await read();
              }),
            }),
          ),
        ];
      }),
    );
    // Revealed keys stay visible until the keys change.
    const data = projects.map(({ project }) => project.keys);
    redraw(list, data, () =>
      table("All keys", ["Name", "Organization", "Project", "Key", ""], rows),
    );
  }
  return { read };
}

export const keys = { title: "Keys", parts: ["accounts"], mount };
