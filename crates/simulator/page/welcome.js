// How to reach the service: the whole first screen until there is a task, then a closed part of it.

import { attempt, get } from "./api.js";
import { curl, findKey, pathOf, submit } from "./service.js";
import { Button, CopyButton, html } from "./ui.js";
import { useEffect, useState } from "./vendor/hooks.js";

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

async function readConnection() {
  const connection = await get("/api/connection");
  const { key } = connection;
  const call = { region: "global", path: await pathOf(OPERATION), body: { prompt: PROMPTS[0] } };
  return { ...connection, command: await curl({ ...call, key }) };
}

const Fact = ({ name, value }) => html`
  <div>
    <dt>${name}</dt>
    <dd>
      <code>${value}</code>
      <${CopyButton} text=${() => value} aria-label=${`Copy ${name.toLowerCase()}`}>Copy<//>
    </dd>
  </div>
`;

const facts = ({ base_url: base, regional_base_url: regional, key, command }) => html`
  <div class="facts-of-connection">
    <dl class="connection">
      <${Fact} name="Address" value=${base} />
      <${Fact} name="Regional address" value=${regional} />
      ${key && html`<${Fact} name="Key" value=${key} />`}
    </dl>
    <div class="command">
      <p class="note">Submit a task with curl:</p>
      <pre tabindex="0" aria-label="A command that submits a task">${command}</pre>
      <${CopyButton} text=${() => command}>Copy the command<//>
    </div>
  </div>
`;

export function Welcome({ isEmpty }) {
  const [connection, setConnection] = useState(null);
  const fill = attempt(async () => setConnection(connection ?? (await readConnection())));
  useEffect(() => {
    if (isEmpty) fill();
  }, [isEmpty]);
  if (!isEmpty) {
    return html`
      <details class="connect" onToggle=${fill}>
        <summary>Address, key and an example</summary>
        ${connection && facts(connection)}
      </details>
    `;
  }
  return html`
    <section class="welcome panel" aria-labelledby="welcome-title">
      <h3 id="welcome-title">No tasks yet</h3>
      <p class="note">
        Point a client at this address with this key. Its tasks appear here as they are accepted.
      </p>
      ${connection && facts(connection)}
      <${Button} class="primary" click=${makePicture}>Make a picture<//>
    </section>
  `;
}
