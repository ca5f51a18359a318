// The gallery of tasks.

import { get } from "./api.js";
import { makeCard, updateCard, updateTimes } from "./card.js";
import { button, h, keyed, select, setText } from "./dom.js";
import { filters, offer, valuesOf } from "./filters.js";
import { count } from "./format.js";
import { detail } from "./task.js";
import * as time from "./time.js";
import { welcome } from "./welcome.js";

const PAGE = 60;
const MAX_TASKS = 500;

const PROGRESS = [
  ["", "all"],
  ["active", "in progress"],
  ["ready", "ready"],
  ["failed", "failed"],
];
const REGIONS = ["", "global", "regional"];

function makeControls() {
  return {
    progress: select({ name: "progress" }, PROGRESS, ""),
    operation: select({ name: "operation" }, [["", "all"]], ""),
    project: select({ name: "project" }, [["", "all"]], ""),
    region: select(
      { name: "region" },
      REGIONS.map((region) => [region, region || "all"]),
      "",
    ),
    search: h("input", {
      type: "search",
      name: "search",
      placeholder: "prompt, operation, status, id",
      autocomplete: "off",
    }),
  };
}

function mount(root) {
  let limit = PAGE;
  const controls = makeControls();
  const fields = [
    ["Status", controls.progress],
    ["Operation", controls.operation],
    ["Project", controls.project],
    ["Region", controls.region],
    ["Search", controls.search],
  ];
  const total = h("p", { class: "total" });
  const list = h("ul", { class: "gallery", "aria-label": "Tasks, newest first" });
  const more = button("Show older tasks", {
    click: () => {
      limit = Math.min(MAX_TASKS, limit + PAGE);
      read();
    },
  });
  more.hidden = true;
  const none = h("p", { class: "none" }, "No matching tasks.");
  const start = welcome();
  const restart = () => {
    limit = PAGE;
    read();
  };
  const form = filters(fields, restart, total);
  // Until the tasks have been read, nothing is known about them.
  form.hidden = true;
  none.hidden = true;
  root.append(start.element, form, none, list, h("p", { class: "more" }, more));
  const dialog = detail(() => [...list.children].map((card) => card.dataset.key));
  document.body.append(dialog.element);

  async function read() {
    const query = new URLSearchParams([["limit", limit], ...valuesOf(fields)]);
    const page = await get(`/api/tasks?${query}`);
    keyed(list, page.tasks, (task) => task.id, makeCard, updateCard);
    offer(controls.operation, page.operations);
    offer(controls.project, page.projects);
    const isFiltered = valuesOf(fields).length > 0;
    const isEmpty = page.tasks.length === 0 && !page.next && !isFiltered;
    more.hidden = !page.next || limit >= MAX_TASKS;
    setText(total, `${count(page.tasks.length)} of ${count(page.total)} tasks shown`);
    form.hidden = isEmpty;
    none.hidden = page.tasks.length > 0 || isEmpty;
    dialog.update();
    await start.update(isEmpty);
  }

  time.onTick(() => {
    if (!root.hidden) [...list.children].forEach(updateTimes);
  });
  return { read, open: dialog.open };
}

export const tasks = { title: "Tasks", parts: ["tasks"], mount };
