//! `kiln webhook listen` in a separate process, and raw requests to it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::Value;

use crate::bench::Outcome;

/// The running program. It ends with the test.
pub struct Listening {
    pub child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    pub greeting: String,
    pub url: String,
}

impl Listening {
    /// Starts a command that prints its URL, as JSON or as text.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut listening =
            Self { child, stdout: Some(stdout), greeting: String::new(), url: String::new() };
        listening.greeting = listening.line();
        listening.url = if listening.greeting.starts_with('{') {
            let greeting: Value = serde_json::from_str(&listening.greeting).unwrap();
            assert_eq!(greeting["event"], "listening");
            greeting["url"].as_str().unwrap().to_owned()
        } else {
            for _ in 0..3 {
                let line = listening.line();
                listening.greeting += &format!("\n{line}");
            }
            listening.greeting.split_whitespace().last().unwrap().to_owned()
        };
        listening
    }

    /// The next line of standard output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        assert_ne!(read, 0, "the program ended");
        line.trim_end_matches('\n').to_owned()
    }

    /// The next line of standard output as JSON.
    pub fn json(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// Waits for the end. Returns the exit code and standard error.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }

    /// Posts a body to the webhook URL. Returns the status code.
    pub fn post(&self, headers: &[String], body: &str) -> u16 {
        let path = self.url.splitn(4, '/').last().map(|path| format!("/{path}")).unwrap();
        status(&self.send("POST", &path, &with_length(headers, body.len()), body))
    }

    /// Sends a request. Returns the status line and headers of the response.
    pub fn send(&self, method: &str, path: &str, headers: &[String], body: &str) -> String {
        head(self.connect(&request(method, path, headers, body)))
    }

    /// The host and the port of the webhook URL.
    pub fn address(&self) -> &str {
        self.url.split('/').nth(2).unwrap()
    }

    /// Opens a connection and sends a request on it.
    pub fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

/// The outcome of a command that must fail before it prints or serves anything. If it does not, it
/// is killed, so that the test does not hang.
pub fn not_listening(command: &mut Command) -> Outcome {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if !line.is_empty() {
        child.kill().unwrap();
    }
    let outcome = child.wait_with_output().unwrap();
    assert_eq!(line, "");
    Outcome::of(outcome)
}

pub fn with_length(headers: &[String], length: usize) -> Vec<String> {
    [headers, &[format!("Content-Length: {length}")]].concat()
}

/// A request in the HTTP/1.1 wire format.
pub fn request(method: &str, path: &str, headers: &[String], body: &str) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n{body}")
}

/// The status line and headers of the response.
pub fn head(stream: TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The status code in the status line.
pub fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{head}"))
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
