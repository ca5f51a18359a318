// The simulator, for tests. One process has one simulator, whose settings are in its environment.
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { createInterface } = require("node:readline");
const binary = require("./binary");

async function start(options = ["--ready-after", "0"]) {
  // Its input ends with this process, even if that is killed.
  const kiln = spawn(
    binary(),
    ["simulate", "--json", "--port", "0", "--stop-with-stdin", ...options],
    {
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const ended = once(kiln, "exit");
  const failed = ended.then(([code]) => {
    throw new Error(`kiln simulate failed: exit code ${code}`);
  });
  // It prints its settings as soon as it accepts requests, or an error to standard error.
  const [line] = await Promise.race([once(createInterface(kiln.stdout), "line"), failed]);
  for (const [name, value] of Object.entries(JSON.parse(line))) {
    process.env[`IMAGEKILN_${name.toUpperCase()}`] = value;
  }
  return async () => {
    kiln.kill();
    await ended;
  };
}

async function control(path, body) {
  const response = await fetch(process.env.IMAGEKILN_CONTROL_URL + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

const reset = async () => void (await control("/api/reset", {}));
const addFault = async (rule) => void (await control("/api/faults", { rule }));
const count = async (pattern) => (await control("/api/requests/verify", pattern)).count;
async function verify(times, pattern) {
  const { problem } = await control("/api/requests/verify", { times, ...pattern });
  if (problem !== null) throw new Error(problem);
}

module.exports = { start, control, reset, addFault, count, verify };
