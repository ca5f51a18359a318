//! Generates `$OUT_DIR/generated.rs` from `openapi.json`: the types, the client and the table of
//! operations.

#![deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "build/mod.rs"]
mod generator;

use std::{env, fs, path::Path, process::ExitCode};

const CONTRACT: &str = "openapi.json";

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed={CONTRACT}");
    println!("cargo::rerun-if-changed=build");
    match generate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Print each line separately, because cargo shows only the rest of the line after
            // `cargo::error=` as a build error.
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn generate() -> Result<(), String> {
    let text = fs::read_to_string(CONTRACT)
        .map_err(|error| format!("could not read {CONTRACT}: {error}"))?;
    let document = serde_json::from_str(&text)
        .map_err(|error| format!("could not parse {CONTRACT}: {error}"))?;
    let options =
        generator::Options { json_schema: env::var_os("CARGO_FEATURE_SCHEMARS").is_some() };
    let code = generator::generate(&document, &options).map_err(|faults| {
        format!("{CONTRACT} has errors (`cargo xtask check` finds all):\n{faults}")
    })?;
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let target = Path::new(&out).join("generated.rs");
    fs::write(&target, code)
        .map_err(|error| format!("could not write {}: {error}", target.display()))
}
