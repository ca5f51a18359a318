//! Turns `openapi.json` into `$OUT_DIR/generated.rs`: the types, the client and the table of
//! operations.

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
            // One line each: cargo shows what stands behind `cargo::error=` as an error of the
            // build.
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn generate() -> Result<(), String> {
    let document = fs::read_to_string(CONTRACT)
        .map_err(|error| format!("{CONTRACT} can't be read: {error}"))?;
    let options =
        generator::Options { json_schema: env::var_os("CARGO_FEATURE_SCHEMARS").is_some() };
    let code =
        generator::generate(&document, &options).map_err(|fault| format!("{CONTRACT}: {fault}"))?;
    let out = env::var_os("OUT_DIR").ok_or("cargo set no OUT_DIR")?;
    let target = Path::new(&out).join("generated.rs");
    fs::write(&target, code)
        .map_err(|error| format!("{} can't be written: {error}", target.display()))
}
