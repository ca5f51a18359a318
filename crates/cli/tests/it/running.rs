//! A program that runs beside the test, to be interrupted.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    mem,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
};

/// A running program, whose standard error is read line by line.
pub struct Running {
    pub child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self::start_into(command, Stdio::piped())
    }

    pub fn start_into(command: &mut Command, stdout: Stdio) -> Self {
        let mut child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stdout, stderr, said: String::new() }
    }

    /// The next line of standard output, or nothing at its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// Reads standard output until a job of a batch is in this state.
    pub fn until_state(&mut self, state: &str) {
        let states = [format!("\"state\":\"{state}\""), format!(": {state}")];
        loop {
            let line = self.line();
            assert_ne!(line, "", "ended without {state}");
            if states.iter().any(|state| line.contains(state)) {
                return;
            }
        }
    }

    /// Reads until a line contains this text, and returns the line.
    pub fn until(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.stderr.read_line(&mut line).unwrap(),
                0,
                "ended without {text}: {}",
                self.said
            );
            self.said.push_str(&line);
            if line.contains(text) {
                return line;
            }
        }
    }

    pub fn interrupt(&self) {
        self.signal("-INT");
    }

    pub fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end. Returns the exit code, standard output and standard error.
    pub fn end(mut self) -> (i32, String, String) {
        self.stderr.read_to_string(&mut self.said).unwrap();
        let mut stdout = String::new();
        if let Some(pipe) = &mut self.stdout {
            pipe.read_to_string(&mut stdout).unwrap();
        }
        (
            self.child.wait().unwrap().code().expect("the process was killed by a signal"),
            stdout,
            mem::take(&mut self.said),
        )
    }
}

/// A test that fails leaves no process behind.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command that the program printed to resume the task.
pub fn resume_command(said: &str) -> &str {
    let (_, after) = said.split_once("resume it with:\n").unwrap_or_else(|| panic!("{said}"));
    after.lines().next().unwrap().trim()
}
