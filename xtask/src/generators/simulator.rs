//! Runs the simulator for the generated clients.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::cargo;

/// A running simulator. It stops when this value is dropped.
pub struct Simulator {
    process: Child,
    pub base_url: String,
    pub api_key: String,
}

impl Simulator {
    /// Builds the simulator, starts it on free ports, and waits until it accepts requests.
    pub fn start(root: &Path) -> Result<Self> {
        let mut command = cargo(root, &["run", "--quiet", "--package", "imagekiln-cli"]);
        // A task takes a few polls, and each run has its own simulator.
        command.args([
            "--bin",
            "kiln",
            "--",
            "simulate",
            "--json",
            "--port",
            "0",
            "--ready-after",
            "0.25",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().context("could not start cargo run")?;
        let mut simulator = Self { process, base_url: String::new(), api_key: String::new() };
        let output = simulator.process.stdout.take().context("the simulator has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("could not read its address")?;
        (simulator.base_url, simulator.api_key) = address(&line)?;
        Ok(simulator)
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // On Unix, `cargo run` becomes the program that it runs, so this stops the simulator.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads the base URL and the key from the line that `kiln simulate --json` prints.
fn address(line: &str) -> Result<(String, String)> {
    ensure!(!line.is_empty(), "the simulator did not start; its error is above");
    let settings: Value = serde_json::from_str(line)
        .with_context(|| format!("the simulator printed an unexpected line: {line}"))?;
    let text = |name: &str| {
        let value = settings[name].as_str().map(str::to_owned);
        value.with_context(|| format!("the simulator did not print its {name}: {line}"))
    };
    Ok((text("base_url")?, text("api_key")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_the_first_line() {
        let line = r#"{"base_url":"http://127.0.0.1:1","page":"http://x","api_key":"key"}"#;
        let (base_url, api_key) = address(line).unwrap();
        assert_eq!((base_url.as_str(), api_key.as_str()), ("http://127.0.0.1:1", "key"));
    }

    #[test]
    fn a_simulator_that_prints_no_address_is_an_error() {
        let error = |line| address(line).unwrap_err().to_string();
        assert_eq!(error(""), "the simulator did not start; its error is above");
        assert!(error("{}").starts_with("the simulator did not print its base_url"));
        assert!(error("listening").starts_with("the simulator printed an unexpected line"));
    }
}
