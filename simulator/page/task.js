// The details of a task, in a dialog.

import { showError, get } from "./api.js";
import { button, h, redraw } from "./dom.js";
import { credits, moment, span } from "./format.js";
import { picture } from "./tasks.js";

function facts(task) {
  const rows = [
    ["Status", h("span", { class: "chip", "data-progress": task.progress }, task.status)],
    ["Id", h("code", {}, task.id)],
    ["Operation", h("code", {}, task.operation)],
    ["Region", task.region],
    ["Project", [task.organization, task.project].filter(Boolean).join(" / ")],
    ["Cost", `${credits(task.cost)} credits`],
    ["Megapixels", `${task.input_mp ?? "unknown"} in, ${task.output_mp} out`],
    ["Size", `${task.width} × ${task.height}, ${task.media_type}`],
    ["Seed", task.seed],
    ["Accepted", moment(task.accepted_at)],
    [
      task.progress === "active" ? "Final at" : "Final",
      `${moment(task.final_at)}, after ${span(task.final_at - task.accepted_at)}`,
    ],
    ["Polls", task.polls],
    ["Deliveries", task.deliveries],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows
      .filter(([, value]) => value !== "")
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/** The dialog. The browser traps and restores the focus, and closes the dialog with Escape. */
export function detail() {
  let id = "";
  const content = h("div", { class: "task" });
  const close = button("Close", { click: () => element.close() });
  const element = h(
    "dialog",
    {
      class: "sheet",
      "aria-labelledby": "task-title",
      close: () => {
        if (id) location.hash = "#/tasks";
      },
    },
    h("header", {}, h("h2", { id: "task-title" }, "Task"), close),
    content,
  );

  async function read() {
    if (!id) return;
    const task = await get(`/api/tasks/${encodeURIComponent(id)}`);
    redraw(content, task, () => {
      const frame = content.querySelector("figure") ?? h("figure");
      if (task.picture && !frame.firstElementChild) frame.append(picture(task));
      return [
        frame,
        facts(task),
        h("h3", {}, "Request"),
        h("pre", { tabindex: "0", "aria-label": "Request" }, JSON.stringify(task.request, null, 2)),
        h("h3", {}, "Result"),
        h("pre", { tabindex: "0", "aria-label": "Result" }, JSON.stringify(result(task), null, 2)),
      ];
    });
  }

  async function open(wanted) {
    if (wanted === id) return;
    id = wanted;
    redraw(content, null, () => []);
    if (!id) return element.close();
    try {
      await read();
      if (!element.open) element.showModal();
    } catch (error) {
      showError(error);
      location.hash = "#/tasks";
    }
  }

  return { element, open, read };
}

/** The result as the control interface has it. Only polls return the signed URL. */
function result({ status, progress, picture: url, media_type, width, height }) {
  return progress === "ready" ? { status, picture: url, media_type, width, height } : { status };
}
