//! `--listen`: clients over HTTP.

use std::process::Command;

use serde_json::{Value, json};

use super::{assert_paid, fox_with};
use crate::{bench::Bench, running::Running, server::exchange};

const SERVER: [&str; 5] = ["mcp", "--budget", "7", "--listen", "127.0.0.1:0"];

struct Listening {
    run: Running,
    address: String,
    token: String,
}

impl Listening {
    fn start(command: &mut Command) -> Self {
        let mut run = Running::start(command);
        let line = run.until("listening on ");
        let (address, token) = line.split_once("/mcp with the token ").unwrap();
        let address = address.strip_prefix("listening on http://").unwrap().to_owned();
        let token = token.split(',').next().unwrap().to_owned();
        Self { run, address, token }
    }

    /// Posts a message. Returns the status, the headers and the body.
    fn send(&self, headers: &[&str], message: &Value) -> (u16, String, String) {
        let body = message.to_string();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{headers}Content-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: \
             close\r\n\r\n{body}",
            body.len()
        );
        exchange(&self.address, &request)
    }

    fn headers(&self) -> [String; 2] {
        [format!("Host: {}", self.address), format!("Authorization: Bearer {}", self.token)]
    }

    fn session(&self) -> Session<'_> {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        } });
        let [host, token] = self.headers();
        let (status, head, body) = self.send(&[&host, &token], &hello);
        assert!(status == 200 && body.contains("\"serverInfo\""), "{head}\n{body}");
        let session = head.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
        let session = Session { server: self, headers: [host, token, session.to_owned()] };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.send(&ready).0, 202);
        session
    }
}

struct Session<'l> {
    server: &'l Listening,
    headers: [String; 3],
}

impl Session<'_> {
    fn send(&self, message: &Value) -> (u16, String, String) {
        self.server.send(&self.headers.each_ref().map(String::as_str), message)
    }

    fn make(&self, seed: u64) -> Value {
        let params = json!({ "name": "make", "arguments": fox_with(json!({ "seed": seed })) });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let (_, head, body) = self.send(&call);
        let messages = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = messages.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let response = messages.find(|message| message["id"] == 1);
        let response = response.unwrap_or_else(|| panic!("{head}\n{body}"));
        response["result"]["structuredContent"].clone()
    }
}

#[test]
fn sessions_share_the_budget_and_the_pictures() {
    let bench = Bench::new();
    let server = Listening::start(&mut bench.kiln(&SERVER));
    let (one, other) = (server.session(), server.session());
    let made = one.make(1);
    assert_eq!((&made["state"], &made["paid_now"]), (&json!("saved"), &json!(true)), "{made}");
    let again = other.make(1);
    assert_eq!((&again["path"], &again["paid_now"]), (&made["path"], &json!(false)));
    assert_eq!(other.make(2)["state"], "saved");
    let over = one.make(3);
    assert!(over["message"].as_str().unwrap().contains("1.00 are left of"), "{over}");
    assert_paid(&bench, 2);
    server.run.signal("-TERM");
    assert_eq!(server.run.end().0, 0);
}

#[test]
fn only_programs_with_the_token_are_served() {
    let bench = Bench::new();
    let server = Listening::start(&mut bench.kiln(&SERVER));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let [host, token] = server.headers();
    let own = format!("Origin: http://{}", server.address);
    for (headers, status) in [
        (vec![&*host], 401),
        (vec![&*host, "Authorization: Bearer 00000000000000000000000000000000"], 401),
        (vec![&*host, &token[..token.len() - 1]], 401),
        (vec!["Host: evil.example", &*token], 403),
        (vec![&*host, &*token, "Origin: http://evil.example"], 403),
        (vec![&*host, &*token, "Origin: null"], 403),
    ] {
        assert_eq!(server.send(&headers, &ping).0, status, "{headers:?}");
    }
    // It reaches the protocol, which wants a session.
    assert!(![401, 403].contains(&server.send(&[&*host, &*token, &*own], &ping).0));
}

#[test]
fn the_person_chooses_the_token_and_a_local_address() {
    let bench = Bench::new();
    let mut server = bench.kiln(&SERVER);
    let secret = "sixteen-characters";
    let mut server = Listening::start(server.env("KILN_MCP_TOKEN", secret));
    assert_eq!(server.token, "$KILN_MCP_TOKEN");
    server.token = secret.to_owned();
    assert_eq!(server.session().make(1)["state"], "saved");
    bench
        .run_with(&[("KILN_MCP_TOKEN", "short")], &SERVER)
        .fails(2)
        .says("is too short for a secret");
    bench
        .run("mcp --budget 7 --listen 0.0.0.0:0")
        .fails(2)
        .says("is reachable from other machines");
}
