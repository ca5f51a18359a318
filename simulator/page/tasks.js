// The gallery of tasks.

import { get } from "./api.js";
import { button, field, h, keyed, select, setText } from "./dom.js";
import { count, credits, span } from "./format.js";
import * as time from "./time.js";
import { detail } from "./task.js";

const PAGE = 60;
const MAX_TASKS = 500;

function makeCard(task) {
  return h(
    "li",
    { class: "card" },
    h(
      "a",
      { href: `#/tasks/${encodeURIComponent(task.id)}` },
      h("div", { class: "frame" }),
      h("p", { class: "status" }),
      h("p", { class: "prompt" }),
      h(
        "p",
        { class: "meta" },
        h("span", { class: "operation" }),
        h("span", { class: "region" }),
        h("span", { class: "cost" }),
        h("time", { class: "age" }),
      ),
    ),
  );
}

function updateCard(card, task) {
  const part = (name) => card.querySelector(`.${name}`);
  card.dataset.progress = task.progress;
  card.dataset.acceptedAt = task.accepted_at;
  setText(part("status"), task.status);
  setText(part("prompt"), task.prompt || "(no prompt)");
  part("prompt").classList.toggle("none", !task.prompt);
  setText(part("operation"), task.operation);
  setText(part("region"), task.region);
  setText(part("cost"), `${credits(task.cost)} cr`);
  updateAge(card);
  const frame = part("frame");
  if (task.picture && !frame.firstElementChild) frame.append(picture(task, { loading: "lazy" }));
}

function updateAge(card) {
  const age = time.now() - Number(card.dataset.acceptedAt);
  setText(card.querySelector(".age"), Number.isNaN(age) ? "" : span(age));
}

/** The result of a task: a picture, or a video with controls. */
export function picture(task, properties = {}) {
  if (task.media_type.startsWith("video/")) {
    return h("video", {
      src: task.picture,
      controls: true,
      preload: "metadata",
      "aria-label": "The task's video",
    });
  }
  const image = h("img", {
    width: task.width,
    height: task.height,
    ...properties,
    src: task.picture,
    alt: task.prompt ? `Placeholder picture for: ${task.prompt}` : "Placeholder picture",
    error: () => image.replaceWith(h("p", { class: "none" }, "no longer stored")),
  });
  return image;
}

function mount(root) {
  let limit = PAGE;
  const progress = select(
    { name: "progress" },
    [
      ["", "all"],
      ["active", "in progress"],
      ["ready", "ready"],
      ["failed", "failed"],
    ],
    "",
  );
  const search = h("input", {
    type: "search",
    name: "search",
    placeholder: "prompt, operation, id",
    autocomplete: "off",
  });
  const total = h("p", { class: "total" });
  const list = h("ul", { class: "gallery", "aria-label": "Tasks, newest first" });
  const more = button("Show older tasks", {
    click: () => {
      limit = Math.min(MAX_TASKS, limit + PAGE);
      read();
    },
  });
  more.hidden = true;
  const none = h("p", { class: "none" });
  const form = h(
    "form",
    { class: "filters", role: "search", submit: (event) => event.preventDefault() },
    field("Show", progress),
    field("Search", search),
    total,
  );
  root.append(form, none, list, h("p", { class: "more" }, more));
  const dialog = detail();
  document.body.append(dialog.element);

  async function read() {
    const query = new URLSearchParams({ limit });
    if (progress.value) query.set("progress", progress.value);
    if (search.value.trim()) query.set("search", search.value.trim());
    const page = await get(`/api/tasks?${query}`);
    keyed(list, page.tasks, (task) => task.id, makeCard, updateCard);
    more.hidden = !page.next || limit >= MAX_TASKS;
    setText(total, `${count(page.tasks.length)} of ${count(page.total)}`);
    none.hidden = page.tasks.length > 0;
    setText(
      none,
      page.total === 0
        ? "No tasks yet. Submit one over HTTP, or try an operation in the documentation."
        : "No matching tasks.",
    );
    await dialog.read();
  }

  let typing;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      limit = PAGE;
      read();
    }, 150);
  });
  progress.addEventListener("change", () => {
    limit = PAGE;
    read();
  });
  time.onTick(() => {
    if (!root.hidden) [...list.children].forEach(updateAge);
  });
  return { read, open: dialog.open };
}

export const tasks = { title: "Tasks", parts: ["tasks"], mount };
