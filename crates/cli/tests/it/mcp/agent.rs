//! A client of `kiln mcp`, which speaks JSON-RPC over the pipes of the program.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
    messages: Vec<Value>,
    /// What the person does when they are asked. `None` if they are not there.
    pub action: Option<&'static str>,
}

impl Agent {
    /// Starts the program, and greets it.
    pub fn start(command: &mut Command) -> Self {
        Self::start_with(command, json!({}))
    }

    /// The same, with capabilities of the client.
    pub fn start_with(command: &mut Command, capabilities: Value) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut agent = Self { child, stdin, stdout, last: 0, messages: Vec::new(), action: None };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = agent.request("initialize", hello);
        assert_eq!(hello["result"]["serverInfo"]["name"], "kiln", "{hello}");
        agent.notify("notifications/initialized", json!({}));
        agent
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "{method}: the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            self.messages.push(message.clone());
            if let Some(action) = self.action.filter(|_| message["method"] == "elicitation/create")
            {
                let result = json!({ "action": action });
                self.write(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
            }
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
        }
    }

    /// Sends a call whose result nobody reads.
    pub fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", call(tool, arguments))
    }

    /// Calls a tool. Returns its facts, with its content and whether it is an error.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.request("tools/call", call(tool, arguments));
        let result = &response["result"];
        let mut facts = result["structuredContent"].clone();
        assert!(facts.is_object(), "{response}");
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, facts);
        facts["content"] = result["content"].clone();
        facts["isError"] = result["isError"].clone();
        facts
    }

    /// All that the server has said.
    pub fn messages(&self) -> &[Value] {
        &self.messages
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM, and returns the exit code of the server.
    pub fn terminate(mut self) -> i32 {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap().code().unwrap()
    }

    /// Leaves, while the server still works.
    pub fn leave(mut self) -> Self {
        drop(self.stdin.take());
        self
    }

    /// Leaves, and returns the exit code of the server.
    pub fn end(mut self) -> i32 {
        drop(self.stdin.take());
        self.child.wait().unwrap().code().unwrap()
    }
}

/// A test that fails leaves no process behind.
impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A call of which the client wants to know how far it is.
fn call(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "a-token" } })
}

/// The width and height of the preview in a result.
#[track_caller]
pub fn preview(result: &Value) -> (u32, u32) {
    let image = &result["content"][1];
    assert_eq!(image["mimeType"], "image/jpeg", "{result}");
    let bytes = BASE64_STANDARD.decode(image["data"].as_str().unwrap()).unwrap();
    assert!(bytes.len() < 200_000);
    let image = image::load_from_memory(&bytes).unwrap();
    (image.width(), image.height())
}
