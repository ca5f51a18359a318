// How to reach the service: the whole first screen until there is a task, then a closed part of it.

import { attempt, get } from "./api.js";
import { copyButton } from "./copy.js";
import { button, h } from "./dom.js";
import { curl, findKey, submit } from "./service.js";

const OPERATION = "gen-2-pro";
const PROMPTS = [
  "a red fox in the snow",
  "a lighthouse at sunset, two sailboats",
  "a castle in the mountains, night, aurora",
  "three yellow tulips in a garden, morning",
];

let made = 0;

async function makePicture() {
  const key = (await get("/api/connection")).key ?? (await findKey());
  if (!key) throw new Error("Could not find a key: create one in the section Keys");
  const prompt = PROMPTS[made++ % PROMPTS.length];
  const body = { prompt, width: 1024, height: 768 };
  return submit({ operation: OPERATION, region: "global", key }, body);
}

function fact(name, value) {
  return h(
    "div",
    {},
    h("dt", {}, name),
    h(
      "dd",
      {},
      h("code", {}, value),
      copyButton("Copy", () => value, { "aria-label": `Copy ${name.toLowerCase()}` }),
    ),
  );
}

async function connection() {
  const { base_url, regional_base_url, key } = await get("/api/connection");
  const shown = key ?? "YOUR-KEY";
  const call = { operation: OPERATION, region: "global", key: shown };
  const command = await curl(call, { prompt: PROMPTS[0] });
  return [
    h(
      "dl",
      { class: "connection" },
      fact("Address", base_url),
      fact("Regional address", regional_base_url),
      key ? fact("Key", key) : null,
    ),
    h(
      "div",
      { class: "command" },
      h("p", { class: "note" }, "Submit a task with curl:"),
      h("pre", { tabindex: "0", "aria-label": "A command that submits a task" }, command),
      copyButton("Copy the command", () => command),
    ),
  ];
}

/** The element, and a function that tells it whether there are tasks. */
export function welcome() {
  const facts = h("div", { class: "facts-of-connection" });
  const first = h(
    "section",
    { class: "welcome panel", "aria-labelledby": "welcome-title", hidden: true },
    h("h3", { id: "welcome-title" }, "No tasks yet"),
    h(
      "p",
      { class: "note" },
      "Point a client at this address with this key. Its tasks appear here as they are accepted.",
    ),
  );
  const later = h(
    "details",
    { class: "connect", hidden: true, toggle: attempt(fill) },
    h("summary", {}, "Address, key and an example"),
  );
  const make = button("Make a picture", { class: "primary", click: attempt(makePicture) });
  first.append(make);
  const element = h("div", { class: "welcomes" }, first, later);
  let isFilled = false;

  async function fill() {
    if (isFilled || (later.hidden && first.hidden) || (first.hidden && !later.open)) return;
    isFilled = true;
    try {
      facts.replaceChildren(...(await connection()));
    } catch (error) {
      isFilled = false;
      throw error;
    }
  }

  async function update(isEmpty) {
    if (first.hidden === !isEmpty && facts.parentElement) return;
    first.hidden = !isEmpty;
    later.hidden = isEmpty;
    if (isEmpty) make.before(facts);
    else later.append(facts);
    await fill();
  }
  return { element, update };
}
