//! `kiln webhook listen`: deliveries of a simulator, forged deliveries, and other requests.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    listening::{Listening, head, request, status, with_length},
    signed::{BODY, SECRET, hmac_header},
};
use crate::{
    assert_shown,
    bench::{Bench, Place},
};
use imagekiln_simulator::{Config, WebhookScheme, WebhookSettings};

/// A simulator that delivers each webhook once.
fn simulator(scheme: WebhookScheme) -> Bench {
    let webhooks =
        WebhookSettings { scheme, retry_after: Vec::new(), ..WebhookSettings::default() };
    Bench::with(Config { ready_after: Duration::ZERO, webhooks, ..Config::default() })
}

fn listen(place: &Place, options: &[&str]) -> Listening {
    Listening::start(&mut with_secret(place, options))
}

fn with_secret(place: &Place, options: &[&str]) -> Command {
    let mut command = place.kiln(&[&["webhook", "listen"], options].concat());
    command.env("IMAGEKILN_WEBHOOK_SECRET", SECRET);
    command
}

/// Submits a task, and returns its id.
fn submit(bench: &Bench, listening: &Listening, prompt: &str) -> String {
    let webhook =
        [("IMAGEKILN_WEBHOOK_URL", &*listening.url), ("IMAGEKILN_WEBHOOK_SECRET", SECRET)];
    let line = format!("task submit gen-2-pro --prompt '{prompt}' -s 64x64");
    let task = bench.run_with(&webhook, &line).ok().json();
    task["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_greeting() {
    assert_shown!("greeting", listen(&Place::new(), &["--path", "/hooks/kiln"]).greeting);
}

#[test]
fn webhooks_of_each_scheme_are_verified() {
    for (scheme, name) in [
        (WebhookScheme::HmacSha256, "hmac-sha256"),
        (WebhookScheme::Secret, "shared-secret"),
        (WebhookScheme::Standard, "standard"),
    ] {
        let bench = simulator(scheme);
        let mut listening = listen(&bench.place, &["--scheme", name, "--path", "/hooks/kiln"]);
        assert!(listening.url.ends_with("/hooks/kiln"), "{}", listening.url);
        let id = submit(&bench, &listening, "a fox");
        let line = listening.line();
        let expected = format!("verified: task {id}, claims Ready");
        assert_eq!(line.split(", message ").next(), Some(expected.as_str()), "{name}");
        let message = &bench.simulator.webhooks()[0].webhook_id;
        assert_eq!(line.ends_with(&format!(", message {message}")), name == "standard", "{line}");
        // The listener neither polls nor sends the key.
        assert_eq!(bench.simulator.counts().polls, 0);
    }
}

#[test]
fn a_forged_webhook_is_rejected() {
    let bench = simulator(WebhookScheme::HmacSha256);
    let mut listening = listen(&bench.place, &["--json"]);
    let id = submit(&bench, &listening, "[[webhook-forged]]");
    let mut events = [listening.json(), listening.json()];
    // The two deliveries may arrive in either order.
    events.sort_by_key(|event| event["event"] == "refused");
    let [received, refused] = events;
    let facts = ["event", "verified", "task_id", "claimed_status"].map(|name| &received[name]);
    assert_eq!(json!(facts), json!(["received", true, id, "Ready"]));
    assert_eq!(received["body"]["id"], json!(id));
    let sent = bench.simulator.webhooks();
    let is_forged = |bytes: usize| refused["bytes"] == json!(bytes);
    assert!(sent.iter().any(|webhook| is_forged(webhook.body.expose().len())), "{refused}");
    let expected = json!({
        "event": "refused",
        "verified": false,
        "reason": "wrong",
        "message": "the header x-webhook-signature does not match any of the secrets",
        "bytes": refused["bytes"],
        "headers": refused["headers"],
    });
    assert_eq!(refused, expected);
    let names: Vec<&str> =
        refused["headers"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.contains(&"x-webhook-signature") && names.is_sorted(), "{names:?}");
}

#[test]
fn rejected_deliveries_are_printed_without_their_content() {
    let place = Place::new();
    let mut listening = listen(&place, &[]);
    assert_eq!(listening.post(&["X-Custom: HUSH".to_owned()], BODY), 401);
    let expected = format!(
        "rejected: the header x-webhook-signature is missing; {} bytes; \
         headers: content-length, host, x-custom",
        BODY.len()
    );
    assert_eq!(listening.line(), expected);
    assert_eq!(listening.post(&[hmac_header("{}")], BODY), 401);
    assert!(
        listening.line().starts_with("rejected: the header x-webhook-signature does not match any")
    );
    assert_eq!(listening.post(&[hmac_header(BODY)], BODY), 204);
    assert_eq!(listening.line(), "verified: task a1, claims Ready");
}

#[test]
fn without_a_secret_deliveries_are_printed_as_unverified() {
    let place = Place::new();
    let mut listening = Listening::start(&mut place.kiln("webhook listen"));
    assert_eq!(listening.post(&[hmac_header(BODY)], BODY), 204);
    assert_eq!(
        listening.line(),
        "unverified: task a1, claims Ready; headers: content-length, host, x-webhook-signature"
    );
    let wrapped = r#"{"data":{"task_id":"b\u001b[31m2","id":"other"},"status":7}"#;
    assert_eq!(listening.post(&[], wrapped), 204);
    let printed = "unverified: task b [31m2, no status; headers: content-length, host";
    assert_eq!(listening.line(), printed);
    assert_eq!(listening.post(&[], "status=ready"), 400);
    let printed = "rejected: the body is not JSON; 12 bytes; headers: content-length, host";
    assert_eq!(listening.line(), printed);
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(1025));
    assert_eq!(listening.post(&[], &long), 204);
    assert!(listening.line().starts_with("unverified: no task id found, no status"));
    listening.child.kill().unwrap();
    let (_, said) = listening.end();
    assert_eq!(
        said,
        "warning: webhooks are not verified: no webhook secret is set; \
         set IMAGEKILN_WEBHOOK_SECRET, or pass --secret-file\n"
    );
}

#[test]
fn json_output_contains_unverified_deliveries() {
    let place = Place::new();
    let mut listening = Listening::start(&mut place.kiln("webhook listen --json --task-id /job/0"));
    let body = "{\"job\":[\"a\u{202e}b\"],\"id\":\"other\",\"status\":\"Ready\"}";
    assert_eq!(listening.post(&["webhook-id: msg_1".to_owned()], body), 204);
    let line = listening.line();
    assert!(!line.contains('\u{202e}'), "{line}");
    let expected = json!({
        "event": "received",
        "verified": false,
        "task_id": "a\u{202e}b",
        "claimed_status": "Ready",
        "message_id": null,
        "body": serde_json::from_str::<Value>(body).unwrap(),
        "headers": ["content-length", "host", "webhook-id"],
    });
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
}

#[test]
fn a_body_that_is_too_large_is_rejected() {
    let place = Place::new();
    let mut listening = listen(&place, &["--json"]);
    let refused = json!({
        "event": "refused",
        "verified": false,
        "reason": "too_large",
        "message": "the body is larger than 1048576 bytes",
        "bytes": null,
    });
    let most = 1024 * 1024;
    let announced = [format!("Content-Length: {}", most + 1)];
    let body = "x".repeat(most + 1);
    let chunked = ["Transfer-Encoding: chunked".to_owned()];
    let chunk = format!("{:x}\r\n{}\r\n1\r\nx\r\n", most, "x".repeat(most));
    for (headers, body) in [(&announced, &body), (&chunked, &chunk)] {
        assert_eq!(status(&listening.send("POST", "/", headers, body)), 413);
        let mut shown = listening.json();
        shown.as_object_mut().unwrap().remove("headers").unwrap();
        assert_eq!(shown, refused);
    }
    let largest = format!("{{\"id\":\"{}\"}}", "x".repeat(most - 9));
    assert_eq!(largest.len(), most);
    let headers = with_length(&[hmac_header(&largest)], most);
    let stream = listening.connect(&request("POST", "/", &headers, &largest));
    // The response follows the line, which is too long for the pipe's buffer. So is the id for a
    // task.
    assert_eq!(listening.json()["task_id"], Value::Null);
    assert_eq!(status(&head(stream)), 204);
}

#[test]
fn a_signed_delivery_that_is_not_json_is_rejected() {
    let place = Place::new();
    let mut listening = listen(&place, &["--json"]);
    assert_eq!(listening.post(&[hmac_header("Ready")], "Ready"), 400);
    let refused = listening.json();
    assert_eq!(
        (&refused["event"], &refused["reason"], &refused["bytes"]),
        (&json!("refused"), &json!("not_json"), &json!(5))
    );
}

#[test]
fn requests_that_are_not_deliveries_are_not_printed() {
    let place = Place::new();
    let mut listening = listen(&place, &["--path", "/hook"]);
    for path in ["/", "/hook/", "/hook/x", "/%68ook", "/HOOK"] {
        let head = listening.send("POST", path, &["Content-Length: 0".to_owned()], "");
        assert_eq!(status(&head), 404, "{path}");
    }
    for method in ["GET", "PUT", "HEAD"] {
        let head = listening.send(method, "/hook?x=1", &[], "");
        assert_eq!(status(&head), 405, "{method}");
        assert!(head.contains("\nallow: POST"), "{head}");
    }
    assert_eq!(listening.post(&[hmac_header(BODY)], BODY), 204);
    assert_eq!(listening.line(), "verified: task a1, claims Ready");
}

#[test]
fn an_incomplete_body_is_rejected() {
    let place = Place::new();
    let mut listening = listen(&place, &["--json"]);
    let stream = listening.connect("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(listening.json()["reason"], "broken_off");
}

#[test]
fn an_unspecified_address_is_explained() {
    let place = Place::new();
    let mut listening = listen(&place, &["--listen", "0.0.0.0:0"]);
    assert!(listening.url.starts_with("http://0.0.0.0:"), "{}", listening.url);
    listening.child.kill().unwrap();
    let (_, said) = listening.end();
    assert!(said.starts_with("warning: 0.0.0.0 means every address of this machine"), "{said}");
}

#[test]
fn it_ends_when_its_output_is_closed() {
    let place = Place::new();
    let mut listening = listen(&place, &[]);
    listening.close_stdout();
    // A process that another test starts holds the pipe until it runs its program, so a delivery
    // may still be printed. The service delivers the webhook again.
    while let Ok(mut stream) = TcpStream::connect(listening.address()) {
        // The program may end before it reads the request or responds.
        let _ = stream.write_all(
            b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        );
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(listening.end(), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn it_exits_with_success_after_an_interruption() {
    let place = Place::new();
    let mut listening = listen(&place, &["--json"]);
    assert_eq!(listening.post(&[hmac_header(BODY)], BODY), 204);
    assert_eq!(listening.json()["event"], "received");
    let id = listening.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(listening.end(), (Some(0), String::new()));
}
