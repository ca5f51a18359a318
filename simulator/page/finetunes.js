// Finetunes, which requests name in `finetune_id`.

import { attempt, get, send } from "./api.js";
import { button, field, h, redraw, select, setOptions, table } from "./dom.js";

const path = (organization, name) =>
  `/api/organizations/${encodeURIComponent(organization)}/finetunes/${encodeURIComponent(name)}`;

function mount(root) {
  const list = h("div");
  const where = select({ name: "organization" }, []);
  const name = h("input", { name: "name", required: true, autocomplete: "off" });
  const shared = h("input", { type: "checkbox", name: "shared" });
  const change = (work) =>
    attempt(async () => {
      await work();
      await read();
    });
  root.append(
    h(
      "p",
      { class: "note" },
      "Fine-tuned models (LoRAs), which requests name in finetune_id. Other organizations can " +
        "use a shared one with the organization's id as a prefix.",
    ),
    list,
    h(
      "form",
      {
        class: "panel",
        submit: change(() =>
          send("PUT", path(where.value, name.value), { shared: shared.checked }),
        ),
      },
      h("h3", {}, "New finetune"),
      h(
        "div",
        { class: "row" },
        field("Organization", where),
        field("Name", name),
        h("label", { class: "check" }, shared, "shared"),
        h("button", { type: "submit" }, "Add"),
      ),
    ),
  );

  async function read() {
    const { organizations } = await get("/api/organizations");
    setOptions(
      where,
      organizations.map(({ id, name: shown }) => [id, shown]),
    );
    const rows = organizations.flatMap(({ id, name: shown, finetunes }) =>
      finetunes.map((finetune) => [
        h("code", {}, finetune.name),
        shown,
        finetune.shared ? h("code", {}, `${id}/${finetune.name}`) : "not shared",
        h(
          "span",
          { class: "row" },
          button(finetune.shared ? "Stop sharing" : "Share", {
            "aria-label": `${finetune.shared ? "Stop sharing" : "Share"} ${finetune.name}`,
            click: change(() => send("PUT", path(id, finetune.name), { shared: !finetune.shared })),
          }),
          button("Remove", {
            class: "danger",
            "aria-label": `Remove ${finetune.name}`,
            click: change(() => send("DELETE", path(id, finetune.name))),
          }),
        ),
      ]),
    );
    const data = organizations.map(({ id, finetunes }) => [id, finetunes]);
    redraw(list, data, () =>
      table("All finetunes", ["Name", "Organization", "For others", ""], rows),
    );
  }
  return { read };
}

export const finetunes = { title: "Finetunes", parts: ["accounts"], mount };
