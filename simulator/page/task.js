// The details of a task, in a dialog.

import { attempt, get, showError } from "./api.js";
import { finish, timeLeft } from "./card.js";
import { copyButton } from "./copy.js";
import { button, h, redraw, setText } from "./dom.js";
import { sections } from "./facts.js";
import { follow } from "./live.js";
import { curlOf, submitAgain } from "./repeat.js";
import * as time from "./time.js";

const pathOf = (id) => `#/tasks/${encodeURIComponent(id)}`;

function goTo(id) {
  if (id) location.hash = pathOf(id);
}

/** The buttons for the task that `shown` returns. */
function makeActions(shown) {
  const end = button("Finish now", { class: "finish", click: attempt(() => finish(shown().id)) });
  const again = button("Submit again", {
    class: "again",
    click: attempt(async () => goTo((await submitAgain(shown())).id)),
  });
  const copy = copyButton("Copy as curl", () => curlOf(shown()), { class: "copy" });
  return { end, again, element: h("div", { class: "row actions" }, end, again, copy) };
}

/** The buttons to the previous and the next task, of which `neighbour` returns the id. */
function makeSteps(neighbour) {
  const step = (label, by) =>
    button(label, { class: label.toLowerCase(), click: () => goTo(neighbour(by)) });
  const [previous, next] = [step("Previous", -1), step("Next", 1)];
  /** A button that is disabled loses the focus, so these only say that they lead nowhere. */
  const update = () => {
    previous.setAttribute("aria-disabled", neighbour(-1) === undefined);
    next.setAttribute("aria-disabled", neighbour(1) === undefined);
  };
  const keydown = (event) => {
    if (event.target.closest("pre, video") || event.altKey || event.ctrlKey) return;
    if (event.key === "ArrowLeft") previous.click();
    if (event.key === "ArrowRight") next.click();
  };
  return { buttons: [previous, next], update, keydown };
}

function makeDialog(steps, actions, content, closed) {
  const element = h(
    "dialog",
    { class: "sheet", "aria-labelledby": "task-title", close: closed, keydown: steps.keydown },
    h(
      "header",
      {},
      h("h2", { id: "task-title" }, "Task"),
      h(
        "div",
        { class: "row" },
        steps.buttons,
        button("Close", { class: "close", click: () => element.close() }),
      ),
    ),
    actions,
    content,
  );
  return element;
}

/**
 * The dialog. `order` returns the ids of the listed tasks, through which the buttons lead. The
 * browser traps and restores the focus, and closes the dialog with Escape.
 */
export function detail(order) {
  let id = "";
  let shown = null;
  const content = h("div", { class: "task" });
  const { end, again, element: actions } = makeActions(() => shown);
  const steps = makeSteps((by) => {
    const ids = order();
    const place = ids.indexOf(id);
    return place < 0 ? undefined : ids[place + by];
  });
  const element = makeDialog(steps, actions, content, () => {
    if (id) location.hash = "#/tasks";
  });

  async function read() {
    const wanted = id;
    if (!wanted) return;
    const task = await get(`/api/tasks/${encodeURIComponent(wanted)}`);
    if (id !== wanted) return;
    const isSame = shown?.id === task.id;
    shown = task;
    if (task.progress !== "active" && document.activeElement === end) again.focus();
    end.hidden = task.progress !== "active";
    redraw(content, task, () => {
      // A video that plays continues when something else of its task changes.
      const frame = isSame ? content.querySelector(".result") : null;
      return sections(task, frame ?? h("figure", { class: "result" }));
    });
    steps.update();
    tick();
  }

  function tick() {
    const left = content.querySelector(".left");
    if (left && shown) setText(left, timeLeft(shown.final_at));
  }

  async function open(wanted) {
    if (wanted === id) return;
    id = wanted;
    if (!id) return element.close();
    try {
      await read();
      if (!element.open) element.showModal();
    } catch (error) {
      showError(error);
      location.hash = "#/tasks";
    }
  }

  follow(["tasks", "counts", "webhooks"], () => element.open, read);
  time.onTick(tick);
  return { element, open, update: steps.update };
}
