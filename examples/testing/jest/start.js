// Starts one simulator for all test files.
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");

module.exports = async () => {
  const options = ["simulate", "--json", "--port", "0", "--ready-after", "0"];
  const simulator = spawn("kiln", options, { stdio: ["ignore", "pipe", "inherit"] });
  globalThis.simulator = simulator;
  // It prints its settings as soon as it accepts requests.
  for await (const line of createInterface({ input: simulator.stdout })) {
    process.env.SIMULATOR = line;
    return;
  }
  throw new Error("the simulator did not start");
};
