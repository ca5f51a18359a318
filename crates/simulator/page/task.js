// The details of a task, in a dialog.

import { get, showError } from "./api.js";
import { finish } from "./card.js";
import { Content } from "./facts.js";
import { taskHref } from "./format.js";
import { useLive } from "./live.js";
import { curlOf, submitAgain } from "./repeat.js";
import { Button, CopyButton, html } from "./ui.js";
import { useLayoutEffect, useRef } from "./vendor/hooks.js";

function goTo(id) {
  if (id) location.hash = taskHref(id);
}

const close = () => {
  location.hash = "#/tasks";
};

function Actions({ task }) {
  const end = useRef(null);
  const again = useRef(null);
  const isActive = task.progress === "active";
  useLayoutEffect(() => {
    if (!isActive && document.activeElement === end.current) again.current.focus();
  }, [isActive]);
  return html`
    <div class="row actions">
      <${Button} class="finish" ref=${end} hidden=${!isActive}
        click=${() => finish(task.id)}>Finish now<//>
      <${Button} class="again" ref=${again}
        click=${async () => goTo((await submitAgain(task)).id)}>Submit again<//>
      <${CopyButton} class="copy" text=${() => curlOf(task)}>Copy as curl<//>
    </div>
  `;
}

/** A button that is disabled loses the focus, so this only says that it leads nowhere. */
const Step = ({ id, children, ...rest }) => html`
  <${Button} aria-disabled=${id === undefined} click=${() => goTo(id)} ...${rest}>${children}<//>
`;

/**
 * The dialog, which is open if there is an id. The buttons lead through `order`, the ids of the
 * listed tasks. The browser traps and restores the focus, and closes the dialog with Escape.
 */
export function Details({ id, order }) {
  const dialog = useRef(null);
  const shown = useRef("");
  const load = async () => {
    if (!id) return null;
    try {
      return await get(`/api/tasks/${encodeURIComponent(id)}`);
    } catch (error) {
      if (shown.current === id) throw error;
      showError(error);
      close();
      return null;
    }
  };
  const task = useLive(["tasks", "counts", "webhooks"], load, [id]);
  shown.current = task?.id;
  useLayoutEffect(() => {
    if (!id) dialog.current.close();
    else if (task?.id === id && !dialog.current.open) dialog.current.showModal();
  });
  const place = order.indexOf(id);
  const [previous, next] = place < 0 ? [] : [order[place - 1], order[place + 1]];
  const onKeyDown = (event) => {
    if (event.target.closest("pre, video") || event.altKey || event.ctrlKey) return;
    if (event.key === "ArrowLeft") goTo(previous);
    if (event.key === "ArrowRight") goTo(next);
  };
  return html`
    <dialog class="sheet" aria-labelledby="task-title" ref=${dialog} onKeyDown=${onKeyDown}
      onClose=${() => id && close()}>
      <header>
        <h2 id="task-title">Task</h2>
        <div class="row">
          <${Step} class="previous" id=${previous}>Previous<//>
          <${Step} class="next" id=${next}>Next<//>
          <${Button} class="close" click=${() => dialog.current.close()}>Close<//>
        </div>
      </header>
      ${task && html`<${Actions} task=${task} /><${Content} key=${task.id} task=${task} />`}
    </dialog>
  `;
}
