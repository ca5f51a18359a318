module.exports = async () => {
  globalThis.simulator.kill();
};
