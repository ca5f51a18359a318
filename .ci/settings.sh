# How .ci/run and .ci/repeat build and test: both source this file, so that they share one build.

# Nobody debugs here, and without debug information everything links faster. Clippy compiles the crates of the workspace, so
# that one build serves the linter and the tests: `cargo clippy` would check all dependencies once more.
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__"

# No test is skipped because a program is missing.
export IMAGEKILN_BROWSER_TESTS=required IMAGEKILN_POSTGRES_TESTS=required
export IMAGEKILN_MCP_TESTS=required IMAGEKILN_PYTEST_TESTS=required IMAGEKILN_JEST_TESTS=required IMAGEKILN_SHELL_TESTS=required
export PATH="$PWD/target/npm/node_modules/.bin:$PATH" PYTHONPATH="$PWD/target/python"
# Many tests wait for a server or a browser more than they compute: with three threads for each processor, the processors were
# idle for a quarter of the time of `kiln`'s tests; with five, for a tenth.
export RUST_TEST_THREADS=$((5 * $(nproc)))
host=$(rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)
export "CARGO_TARGET_${host}_RUNNER=$PWD/.ci/timed" RUSTDOC="$PWD/.ci/documented"
