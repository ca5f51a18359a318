//! The program, in a temporary directory with recordings.

use std::process::Command;

use imagekiln::recording::Recording;
use serde_json::Value;
use tempfile::TempDir;

pub struct Recordings(TempDir);

/// The exit code and the output of the program.
pub struct Outcome {
    pub code: i32,
    pub lines: Vec<String>,
    pub errors: String,
}

impl Recordings {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn add(&self, name: &str, content: &str) -> &Self {
        std::fs::write(self.0.path().join(name), content).unwrap();
        self
    }

    pub fn add_json(&self, name: &str, recording: &Value) -> &Self {
        self.add(name, &recording.to_string())
    }

    pub fn add_all(&self, recordings: &[Recording]) {
        for (number, recording) in recordings.iter().enumerate() {
            let recording = serde_json::to_value(recording).unwrap();
            self.add_json(&format!("{number:04}.json"), &recording);
        }
    }

    pub fn check(&self, options: &[&str]) -> Outcome {
        let program = env!("CARGO_BIN_EXE_imagekiln-conformance");
        let output = Command::new(program).args(options).arg(self.0.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            lines: text.lines().map(str::to_owned).collect(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
