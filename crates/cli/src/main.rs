//! The program `kiln`; the library of this package has its code.

use std::process::ExitCode;

/// The allocator of musl asks the system for memory 160 times while `kiln` starts.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    imagekiln_cli::run()
}
