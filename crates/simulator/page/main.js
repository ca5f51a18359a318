// The frame of the page: navigation, counters, and the clock at the top.

import { Accounts } from "./accounts.js";
import { get } from "./api.js";
import { Clock } from "./clock.js";
import { Docs } from "./docs.js";
import { Faults } from "./faults.js";
import { Finetunes } from "./finetunes.js";
import { count, credits } from "./format.js";
import { Keys } from "./keys.js";
import { Shown, useConnection, useLive } from "./live.js";
import { Requests } from "./requests.js";
import { Tasks } from "./tasks.js";
import * as time from "./time.js";
import { html, Unfold } from "./ui.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import { render } from "./vendor/preact.js";
import { Webhooks } from "./webhooks.js";

/** The title and the view of each section. */
const SECTIONS = {
  tasks: ["Tasks", Tasks],
  requests: ["Requests", Requests],
  accounts: ["Credits and limits", Accounts],
  keys: ["Keys", Keys],
  finetunes: ["Finetunes", Finetunes],
  webhooks: ["Webhooks", Webhooks],
  faults: ["Faults", Faults],
  clock: ["Clock", Clock],
  docs: ["Documentation", Docs],
};
const NAMES = Object.keys(SECTIONS);
const ANNOUNCEMENT_PAUSE = 10_000;

/** The section in the URL's fragment, and the item in it: `#/tasks/ID`. */
function named() {
  const [, section, ...rest] = location.hash.split("/");
  return [section in SECTIONS ? section : "tasks", rest.map(decodeURIComponent).join("/")];
}

/** What screen readers announce of the counts, at most every ten seconds. */
function useAnnouncement(counts) {
  const last = useRef({ counts: null, at: 0, text: "" }).current;
  const changed = counts && `${counts.ready} ready, ${counts.failed} failed`;
  last.counts ??= changed;
  if (changed && changed !== last.counts && performance.now() - last.at > ANNOUNCEMENT_PAUSE) {
    Object.assign(last, { counts: changed, at: performance.now(), text: `Tasks: ${changed}` });
  }
  return last.text;
}

function Now() {
  time.useTicks();
  return html`<span id="clock-now">${time.text()}</span>`;
}

function Top() {
  const isLive = useConnection();
  const counts = useLive(["counts", "clock"], async () => {
    const state = await get("/api/state");
    time.set(state.clock);
    return state.counts;
  });
  const counter = (name, text, shown = count) => html`
    <div>
      <dt>${text}</dt>
      <dd id=${`count-${name}`} data-progress=${name}>${shown(counts?.[name] ?? 0)}</dd>
    </div>
  `;
  const connection = { true: "live", false: "not connected" }[isLive] ?? "connecting";
  return html`
    <header class="top">
      <h1><img src="/icon.svg" alt="" width="20" height="20" />imagekiln <span>simulator</span></h1>
      <dl class="counters" aria-label="Counts">
        ${counter("active", "in progress")}
        ${counter("ready", "ready")}
        ${counter("failed", "failed")}
        ${counter("charged", "credits spent", credits)}
      </dl>
      <p class="clock">
        <${Now} />
        <span id="live" class="live" data-live=${isLive ? "yes" : "no"}>${connection}</span>
      </p>
    </header>
    <p id="announcer" class="unseen" role="status">${useAnnouncement(counts)}</p>
  `;
}

function Section({ name, item, isShown, isFirst }) {
  const heading = useRef(null);
  const [title, View] = SECTIONS[name];
  useLayoutEffect(() => {
    if (!isShown) return;
    document.title = `${title} – imagekiln simulator`;
    if (isFirst) return;
    heading.current.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [isShown]);
  return html`
    <section id=${`section-${name}`} aria-labelledby=${`heading-${name}`} hidden=${!isShown}>
      <h2 id=${`heading-${name}`} tabindex="-1" ref=${heading}>${title}</h2>
      <${Shown.Provider} value=${isShown}><${View} item=${isShown ? item : ""} /><//>
    </section>
  `;
}

function Page() {
  const [[shown, item], setNamed] = useState(named);
  const main = useRef(null);
  // A section that was opened once keeps what was chosen and typed there.
  const opened = useRef(new Set()).current.add(shown);
  useEffect(() => {
    const follow = () => setNamed(named());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };
  const current = (name) => (name === shown ? "page" : null);
  const link = (name) => html`
    <li><a href=${`#/${name}`} aria-current=${current(name)}>${SECTIONS[name][0]}</a></li>
  `;
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Top} />
    <nav aria-label="Sections">
      <${Unfold} key=${shown}>Menu<//>
      <ul>${NAMES.map(link)}</ul>
    </nav>
    <main id="main" tabindex="-1" ref=${main}>
      ${[...opened].map(
        (name) => html`
          <${Section} key=${name} name=${name} item=${item} isShown=${name === shown}
            isFirst=${opened.size === 1} />
        `,
      )}
    </main>
  `;
}

render(html`<${Page} />`, document.getElementById("page"));
