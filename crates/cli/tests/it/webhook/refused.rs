//! `kiln webhook verify`: the webhooks that are rejected, with the reason and the advice.

use super::{
    signed::{BODY, SECRET, hmac_header, now, standard_headers},
    verify::{recorded, verify},
};
use crate::{assert_shown, bench::Outcome, errors::shown};

/// The text of an error, with its exit code. It must not contain the secret.
fn refused(body: &str, headers: &[String], options: &[&str]) -> String {
    let outcome = verify(body, headers, options).fails(9);
    assert!(!outcome.stderr.contains(SECRET), "{}", outcome.stderr);
    shown(&outcome)
}

#[test]
fn a_wrong_signature() {
    assert_shown!("wrong", refused(BODY, &[hmac_header("{}")], &[]));
    // Some editors add a newline, which was not in the received body.
    assert!(
        refused(&format!("{BODY}\n"), &[hmac_header(BODY)], &[]).contains("does not match any")
    );
    let shared = ["x-webhook-signature: not the secret".to_owned()];
    assert!(refused(BODY, &shared, &["--scheme", "shared-secret"]).contains("does not match any"));
}

#[test]
fn a_wrong_secret() {
    let (_place, mut command) = recorded(BODY, &[hmac_header(BODY)], &["--json"]);
    let outcome = Outcome::of_run(command.env("IMAGEKILN_WEBHOOK_SECRET", "HUSH")).fails(9);
    assert!(!outcome.stderr.contains("HUSH"), "{}", outcome.stderr);
    assert_shown!("wrong_json", format!("{:#}", outcome.error()));
}

#[test]
fn headers_that_are_missing_or_malformed() {
    assert_shown!("missing", refused(BODY, &[], &[]));
    assert_shown!(
        "missing_standard",
        refused(BODY, &[hmac_header(BODY)], &["--scheme", "standard"])
    );
    assert_shown!("malformed", refused(BODY, &[hmac_header(BODY)], &["--prefix", "v1="]));
    let twice = [hmac_header(BODY), hmac_header(BODY)];
    assert!(refused(BODY, &twice, &[]).contains("occurs more than once"));
    let not_ascii = ["x-webhook-signature: sha256=é".to_owned()];
    assert!(refused(BODY, &not_ascii, &[]).contains("not visible ASCII"));
}

#[test]
fn a_recorded_delivery_that_is_too_old_or_too_new() {
    let old = standard_headers("msg_1", now() - 1000, BODY);
    assert_shown!("too_old", without_seconds(&refused(BODY, &old, &["--scheme", "standard"])));
    verify(BODY, &old, &["--scheme", "standard", "--max-age", "2000"]).ok();
    let new = standard_headers("msg_1", now() + 1000, BODY);
    assert_shown!("from_future", without_seconds(&refused(BODY, &new, &["--scheme", "standard"])));
}

/// Removes the age, which depends on how long the program took to start.
fn without_seconds(text: &str) -> String {
    let near = (990..=1060).find(|seconds| text.contains(&format!("sent {seconds} s")));
    text.replace(&format!("sent {} s", near.unwrap()), "sent SECONDS s")
}

#[test]
fn bodies_that_are_not_webhooks() {
    assert_shown!("not_json", refused("not JSON", &[hmac_header("not JSON")], &[]));
    let large = "x".repeat(1024 * 1024 + 1);
    assert_shown!("too_large", refused(&large, &[hmac_header(&large)], &[]));
    let largest = format!("\"{}\"", "x".repeat(1024 * 1024 - 2));
    verify(&largest, &[hmac_header(&largest)], &[]).ok();
    let deep = "[".repeat(100_000);
    assert!(refused(&deep, &[hmac_header(&deep)], &[]).contains("not JSON"));
}
