//! The program `kiln`; the library of this package has its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    imagekiln_cli::run()
}
