//! `kiln webhook verify`: the webhooks that are accepted.

use std::process::Command;

use serde_json::{Value, json};

use super::signed::{BODY, SECRET, base64, hex, hmac, hmac_header, now, standard_headers};
use crate::bench::{Outcome, Place, Words as _};

/// A directory with a recorded body, and the command that verifies it with these headers.
pub fn recorded(body: &str, headers: &[String], options: &[&str]) -> (Place, Command) {
    let place = Place::new();
    place.write("body.json", body);
    let mut command = place.kiln("webhook verify body.json");
    for header in headers {
        command.args(["--header", header]);
    }
    command.args(options).env("IMAGEKILN_WEBHOOK_SECRET", SECRET);
    (place, command)
}

/// Verifies a recorded body with these headers.
pub fn verify(body: &str, headers: &[String], options: &[&str]) -> Outcome {
    let (_place, mut command) = recorded(body, headers, options);
    Outcome::of_run(&mut command)
}

#[test]
fn each_scheme_is_verified() {
    let shared = format!("x-webhook-signature: {SECRET}");
    let custom = format!("x-hub-signature: v0={}", base64(&hmac(BODY)));
    let plain = format!("X-Webhook-Signature:{}", hex(&hmac(BODY)));
    let cases: [(&[String], &str); 4] = [
        (&[hmac_header(BODY)], ""),
        (&[shared], "--scheme shared-secret"),
        (&[custom], "--signature-header x-hub-signature --prefix v0= --encoding base64"),
        (&[plain], "--prefix= --encoding hex"),
    ];
    for (headers, options) in cases {
        let outcome = verify(BODY, headers, &options.words()).ok();
        assert_eq!(outcome.text(), "verified: task a1, claims Ready\n", "{options}");
        assert_eq!(outcome.stderr, "");
    }
    let standard =
        verify(BODY, &standard_headers("msg_1", now(), BODY), &["--scheme", "standard"]).ok();
    assert_eq!(standard.text(), "verified: task a1, claims Ready, message msg_1\n");

    let own = standard_headers("msg_1", now(), BODY).map(|line| line.replace("webhook-", "svix-"));
    let options = "--scheme standard --id-header svix-id --timestamp-header svix-timestamp \
                   --signature-header svix-signature";
    let own = verify(BODY, &own, &options.words()).ok();
    assert_eq!(own.text(), standard.text());
}

#[test]
fn json_output_contains_the_event() {
    let headers = standard_headers("msg_1", now(), BODY);
    let event = verify(BODY, &headers, &["--scheme", "standard", "--json"]).ok().json();
    let body: Value = serde_json::from_str(BODY).unwrap();
    let expected =
        json!({ "task_id": "a1", "claimed_status": "Ready", "message_id": "msg_1", "body": body });
    assert_eq!(event, expected);
}

#[test]
fn the_body_may_come_from_standard_input() {
    let place = Place::new();
    place.write("secret", SECRET);
    let header = hmac_header(BODY);
    let words = ["webhook", "verify", "-", "-H", &header, "--secret-file", "secret"];
    let outcome = place.run_with_stdin(&words, BODY.as_bytes()).ok();
    assert_eq!(outcome.text(), "verified: task a1, claims Ready\n");
}

#[test]
fn several_secrets_are_accepted_while_one_is_replaced() {
    for (new, old) in
        [("another secret\n", format!("{SECRET}\n")), (SECRET, "another\r\n".to_owned())]
    {
        let options = ["--secret-file", "new", "--secret-file", "old"];
        let (place, mut command) = recorded(BODY, &[hmac_header(BODY)], &options);
        place.write("new", format!("\u{feff}{new}"));
        place.write("old", old);
        Outcome::of_run(command.env_remove("IMAGEKILN_WEBHOOK_SECRET")).ok();
    }
    // The secret in the environment is accepted as well as those in files.
    let (place, mut command) = recorded(BODY, &[hmac_header(BODY)], &["--secret-file", "new"]);
    place.write("new", "another secret");
    Outcome::of_run(&mut command).ok();
}

#[test]
fn only_one_trailing_newline_is_removed_from_a_secret() {
    for (file, code) in
        [(format!("{SECRET}\r\n"), 0), (format!("{SECRET}\n\n"), 9), (format!(" {SECRET}"), 9)]
    {
        let (place, mut command) =
            recorded(BODY, &[hmac_header(BODY)], &["--secret-file", "secret"]);
        place.write("secret", &file);
        Outcome::of_run(command.env_remove("IMAGEKILN_WEBHOOK_SECRET")).fails(code);
    }
}

#[test]
fn the_location_of_the_id_is_a_setting() {
    let body = r#"{"data":{"object":{"key":7}},"status":"Error"}"#;
    let outcome = verify(body, &[hmac_header(body)], &[]).ok();
    assert_eq!(outcome.text(), "verified: no task id found, claims Error\n");
    let outcome = verify(body, &[hmac_header(body)], &["--task-id", "/data/object/key"]).ok();
    assert_eq!(outcome.text(), "verified: task 7, claims Error\n");
    let outcome = verify("[]", &[hmac_header("[]")], &[]).ok();
    assert_eq!(outcome.text(), "verified: no task id found, no status\n");
}

#[test]
fn the_event_cannot_print_control_characters() {
    let body = json!({
        "id": format!("a\u{1b}]0;b\u{7}\n{}", "x".repeat(200)),
        "status": "\u{9b}31mReady\u{202e}",
    });
    let body = body.to_string();
    let outcome = verify(&body, &[hmac_header(&body)], &[]).ok();
    let id = format!("a ]0;b  {}...", "x".repeat(92));
    assert_eq!(outcome.text(), format!("verified: task {id}, claims  31mReady \n"));

    let outcome = verify(&body, &[hmac_header(&body)], &["--json"]).ok();
    assert!(
        !outcome.text().trim_end().contains(['\u{1b}', '\u{9b}', '\u{202e}', '\n']),
        "{}",
        outcome.text()
    );
    assert_eq!(outcome.json()["body"], serde_json::from_str::<Value>(&body).unwrap());
}
