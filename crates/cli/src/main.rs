//! The program `kiln`. Its code is in the library of this package.

use std::process::ExitCode;

/// Replaces the allocator of musl, which asks the system for memory 160 times while `kiln` starts.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    imagekiln_cli::run()
}
