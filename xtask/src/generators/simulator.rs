//! Runs the simulator for clients of other projects.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::cargo;

/// A running simulator. It stops when this value is dropped.
pub struct Simulator {
    process: Child,
    settings: Settings,
}

/// What clients need to know of it.
#[derive(Default)]
struct Settings {
    base_url: String,
    control_url: String,
    api_key: String,
    model_prefix: String,
}

impl Simulator {
    /// Builds the simulator, starts it on free ports with these options, and waits until it accepts
    /// requests.
    pub fn start(root: &Path, options: &[&str]) -> Result<Self> {
        let mut kiln = cargo(root, &["run", "--quiet", "--package", "imagekiln-cli"]);
        kiln.args(["--bin", "kiln", "--"]);
        Self::start_with(kiln, options)
    }

    /// Starts the simulator like [`start`](Self::start), with a command that runs `kiln`.
    pub fn start_with(mut kiln: Command, options: &[&str]) -> Result<Self> {
        kiln.args(["simulate", "--json", "--port", "0"]).args(options);
        kiln.stdin(Stdio::null()).stdout(Stdio::piped());
        let process = kiln.spawn().with_context(|| format!("could not start {kiln:?}"))?;
        let mut simulator = Self { process, settings: Settings::default() };
        let output = simulator.process.stdout.take().context("the simulator has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("could not read its address")?;
        simulator.settings = settings(&line)?;
        Ok(simulator)
    }

    /// Adds the variables that tell a client where the simulator is.
    pub fn describe_to(&self, command: &mut Command) {
        let Settings { base_url, control_url, api_key, model_prefix } = &self.settings;
        command.env("IMAGEKILN_BASE_URL", base_url).env("IMAGEKILN_CONTROL_URL", control_url);
        command.env("IMAGEKILN_API_KEY", api_key).env("IMAGEKILN_MODEL_PREFIX", model_prefix);
    }

    /// Returns the contract without references to responses.
    pub fn inlined_contract(&self) -> Result<String> {
        self.get("/api/openapi.json?responses=inline")
    }

    /// Returns what the control interface has at this path.
    pub fn get(&self, path: &str) -> Result<String> {
        let address = self.settings.control_url.trim_start_matches("http://");
        let mut stream =
            TcpStream::connect(address).context("could not connect to its control port")?;
        // With HTTP/1.0, the connection ends with the response.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response).with_context(|| format!("could not read {path}"))?;
        let (head, body) = response.split_once("\r\n\r\n").context("the response has no body")?;
        ensure!(head.contains(" 200 "), "the simulator did not return {path}: {response}");
        Ok(body.to_owned())
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // On Unix, `cargo run` becomes the program that it runs, so this stops the simulator.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads the line that `kiln simulate --json` prints.
fn settings(line: &str) -> Result<Settings> {
    ensure!(!line.is_empty(), "the simulator did not start; its error is above");
    let settings: Value = serde_json::from_str(line)
        .with_context(|| format!("the simulator printed an unexpected line: {line}"))?;
    let text = |name: &str| {
        let value = settings[name].as_str().map(str::to_owned);
        value.with_context(|| format!("the simulator did not print its {name}: {line}"))
    };
    Ok(Settings {
        base_url: text("base_url")?,
        control_url: text("control_url")?,
        api_key: text("api_key")?,
        model_prefix: text("model_prefix")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_read_from_the_first_line() {
        let line = concat!(
            r#"{"base_url":"http://127.0.0.1:1","regional_base_url":"http://127.0.0.1:2","#,
            r#""control_url":"http://127.0.0.1:3","api_key":"key","model_prefix":"gen"}"#
        );
        let settings = settings(line).unwrap();
        assert_eq!(settings.base_url, "http://127.0.0.1:1");
        assert_eq!(settings.control_url, "http://127.0.0.1:3");
        assert_eq!((settings.api_key.as_str(), settings.model_prefix.as_str()), ("key", "gen"));
    }

    #[test]
    fn a_simulator_that_prints_no_address_is_an_error() {
        let error = |line| settings(line).err().unwrap().to_string();
        assert_eq!(error(""), "the simulator did not start; its error is above");
        assert!(error("{}").starts_with("the simulator did not print its base_url"));
        assert!(error("listening").starts_with("the simulator printed an unexpected line"));
    }
}
