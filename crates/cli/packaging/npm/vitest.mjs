// For `setupFiles`: each test file has a simulator, which is reset before each test.
import { afterAll, beforeEach } from "vitest";
import { reset, start } from "./simulator.js";

const stop = await start();
beforeEach(reset);
afterAll(stop);
