// For `setupFilesAfterEnv`: each test file has a simulator, which is reset before each test.
const { reset, start } = require("./simulator");

module.exports = async () => {
  const stop = await start();
  beforeEach(reset);
  afterAll(stop);
};
