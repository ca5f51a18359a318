#!/usr/bin/env node
// Runs the program for this platform.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const binary = require("./binary");

// A terminal sends Ctrl-C to both processes. A second one would abandon a paid submission.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => kiln.kill("SIGTERM"));
const kiln = start();
kiln.on("error", fail);
kiln.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));

function start() {
  try {
    return spawn(binary(), process.argv.slice(2), { stdio: "inherit" });
  } catch (error) {
    return fail(error);
  }
}

function fail(error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}
