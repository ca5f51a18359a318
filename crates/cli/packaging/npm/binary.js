// The path of the program, which is in the package for this platform.
const name = `imagekiln-cli-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "kiln.exe" : "kiln";

module.exports = () => {
  try {
    return require.resolve(`${name}/${file}`);
  } catch {
    throw new Error(
      `the package ${name} is not installed: install optional dependencies, or compile kiln with ` +
        "Cargo if there is no package for this platform",
    );
  }
};
