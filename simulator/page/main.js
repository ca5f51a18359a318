// The frame of the page: navigation, counters, and the clock at the top.

import { get } from "./api.js";
import { setText } from "./dom.js";
import { count, credits } from "./format.js";
import { connect, follow } from "./live.js";
import * as time from "./time.js";
import { tasks } from "./tasks.js";
import { requests } from "./requests.js";
import { accounts } from "./accounts.js";
import { keys } from "./keys.js";
import { finetunes } from "./finetunes.js";
import { webhooks } from "./webhooks.js";
import { faults } from "./faults.js";
import { clock } from "./clock.js";
import { docs } from "./docs.js";

const SECTIONS = { tasks, requests, accounts, keys, finetunes, webhooks, faults, clock, docs };
const main = document.getElementById("main");
const announcer = document.getElementById("announcer");
const links = [...document.querySelectorAll("nav a")];
const mounted = new Map();
let shown = "";

/** The section in the URL's fragment, and the item in it: `#/tasks/ID`. */
function named() {
  const [, section, ...rest] = location.hash.split("/");
  return [section in SECTIONS ? section : "tasks", rest.map(decodeURIComponent).join("/")];
}

function mount(name) {
  const section = SECTIONS[name];
  const heading = document.createElement("h2");
  heading.id = `heading-${name}`;
  heading.tabIndex = -1;
  heading.textContent = section.title;
  const root = document.createElement("section");
  root.id = `section-${name}`;
  root.setAttribute("aria-labelledby", heading.id);
  root.append(heading);
  main.append(root);
  const view = section.mount(root);
  const read = follow(section.parts, () => !root.hidden, view.read);
  mounted.set(name, { root, heading, read, open: view.open });
}

function show(isFirst) {
  const [name, thing] = named();
  if (!mounted.has(name)) mount(name);
  const isOther = name !== shown;
  shown = name;
  for (const [other, { root }] of mounted) root.hidden = other !== name;
  for (const link of links) {
    if (link.hash === `#/${name}`) {
      link.setAttribute("aria-current", "page");
    } else link.removeAttribute("aria-current");
  }
  const { heading, read, open } = mounted.get(name);
  document.title = `${SECTIONS[name].title} – imagekiln simulator`;
  if (isOther) {
    read();
    if (!isFirst) {
      heading.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  }
  open?.(thing);
}

let announced = "";
let lastAnnouncement = 0;

/** Announces the counts to screen readers, at most every ten seconds. */
function announce(counts) {
  const text = `${counts.ready} ready, ${counts.failed} failed`;
  if (announced === "") announced = text;
  if (text === announced || performance.now() - lastAnnouncement < 10000) return;
  announced = text;
  lastAnnouncement = performance.now();
  setText(announcer, `Tasks: ${text}`);
}

const readCounts = follow(
  ["counts", "clock"],
  () => true,
  async () => {
    const { counts, clock: now } = await get("/api/state");
    for (const name of ["active", "ready", "failed"]) {
      setText(document.getElementById(`count-${name}`), count(counts[name]));
    }
    setText(document.getElementById("count-charged"), credits(counts.charged));
    time.set(now);
    announce(counts);
  },
);

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => show(false));
time.onTick(() => setText(document.getElementById("clock-now"), time.text()));
readCounts();
connect();
show(true);
