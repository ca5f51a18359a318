export default { test: { globals: true, setupFiles: ["imagekiln-cli/vitest"] } };
