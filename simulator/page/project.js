// A project: its spending, limits and endpoints.

import { attempt, send } from "./api.js";
import { button, field, h } from "./dom.js";
import { count, credits } from "./format.js";

const PERIODS = [
  ["daily", "Today"],
  ["weekly", "This week"],
  ["monthly", "This month"],
];

function usage(project) {
  return h(
    "dl",
    { class: "usage" },
    PERIODS.map(([period, name]) => {
      const [spent, limit] = [project.spent[period], project.limits[period]];
      const most = limit === null ? "" : ` of ${credits(limit)}`;
      const text = `${credits(spent)}${most} credits spent`;
      const meter =
        limit === null
          ? null
          : h("meter", {
              min: 0,
              max: Math.max(limit, 0.01),
              high: limit * 0.9,
              optimum: 0,
              value: spent,
              "aria-label": `${name}: ${text}`,
            });
      return h("div", {}, h("dt", {}, name), h("dd", {}, text, meter));
    }),
  );
}

/** An empty field means no limit. */
const limit = (input) => (input.value === "" ? null : input.valueAsNumber);

export function projectPanel(organization, project, cap, read) {
  const path = `${organization}/projects/${encodeURIComponent(project.id)}`;
  const put = (rest, body) =>
    attempt(async () => {
      await send("PUT", path + rest, body());
      await read(true);
    });
  const number = (value, properties) =>
    h("input", {
      type: "number",
      min: "0",
      value: value ?? "",
      placeholder: "none",
      ...properties,
    });
  const inputs = Object.fromEntries(
    PERIODS.map(([period]) => [period, number(project.limits[period], { step: "0.01" })]),
  );
  const endpoints = h("input", {
    value: project.endpoints?.join(", ") ?? "",
    placeholder: "all",
    autocomplete: "off",
  });
  const most = number(project.max_active_tasks, { step: "1", placeholder: String(cap) });
  const patterns = () => endpoints.value.split(/[\s,]+/).filter(Boolean);
  return h(
    "section",
    { class: "panel", "aria-label": `Project ${project.name}` },
    h("h4", {}, project.name),
    usage(project),
    h(
      "p",
      { class: "note" },
      `${count(project.active_tasks)} of ${count(project.max_active_tasks ?? cap)} active tasks, `,
      `${count(project.keys.length)} ${project.keys.length === 1 ? "key" : "keys"}, `,
      project.endpoints
        ? `access to ${project.endpoints.join(", ") || "no endpoints"}`
        : "access to all endpoints",
    ),
    h(
      "details",
      {},
      h("summary", {}, "Change"),
      h(
        "form",
        {
          class: "row",
          submit: put("/limits", () =>
            Object.fromEntries(PERIODS.map(([period]) => [period, limit(inputs[period])])),
          ),
        },
        PERIODS.map(([period]) =>
          field(`${period[0].toUpperCase()}${period.slice(1)} limit`, inputs[period]),
        ),
        h("button", { type: "submit" }, "Set limits"),
      ),
      h(
        "form",
        { class: "row", submit: put("/endpoints", () => ({ endpoints: patterns() })) },
        field("Endpoints", endpoints, "Names, or prefixes such as gen-2-*. Empty denies all."),
        h("button", { type: "submit" }, "Set endpoints"),
        button("Allow all", { click: put("/endpoints", () => ({ endpoints: null })) }),
      ),
      h(
        "form",
        {
          class: "row",
          submit: put("/max_active_tasks", () => ({ max_active_tasks: limit(most) })),
        },
        field("Maximum of active tasks", most),
        h("button", { type: "submit" }, "Set maximum"),
      ),
    ),
  );
}
