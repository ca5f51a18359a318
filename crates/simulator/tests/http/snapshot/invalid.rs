//! Invalid documents are refused, and change nothing.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ACME_KEY, config, prepared};
use crate::bench::{Bench, png};
use imagekiln_simulator::Config;

/// Replaces the value at a pointer, or adds it to an object.
fn set(document: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")) {
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        Value::Object(fields) => drop(fields.insert(name.to_owned(), value)),
        other => panic!("{pointer}: {other}"),
    }
}

/// Puts each value at its pointer, and compares a part of the problem.
async fn are_refused(cases: &[(impl AsRef<str>, Value, &str)]) {
    let bench = prepared().await;
    let document = bench.snapshot().await;
    for (pointer, value, problem) in cases {
        let mut changed = document.clone();
        let pointer = pointer.as_ref();
        set(&mut changed, pointer, value.clone());
        let case = format!("{pointer} {:.80}", value.to_string());
        let response = bench.restore(&changed).await;
        assert_eq!(response.status, 422, "{case}: {response:?}");
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        let start = "could not restore the snapshot: ";
        assert!(detail.starts_with(start) && detail.contains(problem), "{case}: {detail}");
        assert!(detail.ends_with("The simulator is unchanged"), "{case}: {detail}");
        assert!(bench.snapshot().await == document, "{case}");
    }
}

#[tokio::test]
async fn in_the_document() {
    are_refused(&[
        ("/version", json!(1), "the document: version 1 is not supported"),
        ("/version", json!(null), "the document: `version` is missing"),
        ("/version", json!("2"), "the document: invalid type"),
        ("/more", json!(1), "more: unknown field"),
        ("/speed", json!(-1), "speed: must be from 0 to 100000"),
        ("/speed", json!(1e300), "from 0 to 100000"),
        ("/records/polls", json!(1u64 << 60), "larger than 2^53"),
        ("/records/polls", json!(-1), "records.polls: invalid value"),
        ("/records/lateness/found/lengths", json!({ "1": 1000 }), "more tasks were found"),
        ("/records/lateness/fetched/lengths", json!({ "1": u64::MAX, "2": 1 }), "became ready"),
        ("/records/lateness/max_polls", json!(1u64 << 60), "records.lateness: a counter is larger"),
        ("/records/refused", json!({ "x": 1 }), "expected"),
        ("/records/refused", json!({ "422": 1e300 }), "records.refused.422: invalid type"),
        ("/faults/rules/0/spec/text", json!("no-fault"), "unknown fault"),
        ("/faults/rules/1/id", json!(1), "ids of the rules must ascend"),
        ("/faults/rules_made", json!(0), "at most to `rules_made`"),
        ("/faults/applied", json!({ "no-fault": 1 }), "not that of a fault"),
    ])
    .await;
}

#[tokio::test]
async fn in_the_accounts() {
    let accounts = |pointer: &str| format!("/records/accounts{pointer}");
    let acme = |pointer: &str| accounts(&format!("/organizations/acme{pointer}"));
    let key = |pointer: &str| {
        let digest = Sha256::digest(ACME_KEY);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        accounts(&format!("/keys/{digest}{pointer}"))
    };
    let cases = [
        (acme("/name"), json!("!"), "is not that of its name"),
        (acme("/name"), json!("DEFAULT"), "is not that of its name"),
        (acme("/projects/web/name"), json!("Net"), "is not that of its name"),
        (acme("/members/bob/projects/none"), json!("viewer"), "unknown project"),
        (acme("/members/bob/role"), json!("king"), "unknown variant"),
        (acme("/members/bob/user"), json!("eve"), "another name"),
        (acme("/projects/web/endpoints"), json!(["gen-nope"]), "matches no operation"),
        (acme("/projects/web/limits/daily"), json!(-3), "not an amount"),
        (acme("/projects/web/spending/usage/submissions"), json!(1u64 << 60), "2^53"),
        (acme("/finetunes/house/finetune/name"), json!("a/b"), "slash"),
        (accounts("/keys_made"), json!(1), "up to `keys_made`"),
        (key("/number"), json!(2), "unique"),
        (key("/project/project"), json!("none"), "no project"),
        (accounts("/ledger/balances/issued"), json!("0"), "add up to zero"),
        (accounts("/ledger/balances/issued"), json!("none"), "not an integer"),
        (accounts("/ledger/balances/charged"), json!("-1"), "negative"),
        (accounts("/ledger/balances/organization:none"), json!("0"), "unknown organization"),
        (accounts("/ledger/entries/entries/0/number"), json!(2), "do not ascend"),
        (accounts("/ledger/entries/entries/0/to"), json!("organization:none"), "unknown"),
        (accounts("/audit/entries/1/number"), json!(1), "do not ascend"),
    ];
    are_refused(&cases).await;
}

#[tokio::test]
async fn in_the_tasks() {
    let task = |number: u8, pointer: &str| format!("/records/tasks/kept/{number}{pointer}");
    let late = json!({ "secs": 1u64 << 40, "nanos": 0 });
    let cases = [
        ("/records/tasks/accepted".to_owned(), json!(1), "do not fit the tasks"),
        ("/records/tasks/ready".to_owned(), json!(0), "do not fit the tasks"),
        (task(0, "/id"), json!("../../etc"), "not that of a task"),
        (task(0, "/project/project"), json!("none"), "no project"),
        (task(0, "/operation"), json!("gen-nope"), "no such operation"),
        (task(0, "/operation"), json!("get_result"), "no such operation"),
        (task(0, "/operation_id"), json!("gen_3_video"), "no such operation"),
        (task(0, "/picture/operation"), json!("gen-3-video"), "no such operation"),
        (task(0, "/picture/kind"), json!("video"), "no such operation"),
        (task(0, "/region"), json!("mars"), "unknown variant"),
        (task(0, "/accepted_at"), late, "before the snapshot"),
        (task(0, "/final_at"), json!({ "secs": 0, "nanos": 0 }), "before it ends"),
        (task(0, "/polls"), json!(1u64 << 60), "2^53"),
        (task(0, "/cost"), json!(0.001), "decimal places"),
        (task(0, "/painted"), json!("AAAA"), "only contained if"),
        (task(1, "/painted"), json!("AAAA"), "not a jpeg"),
        (task(1, "/painted"), json!(png(64, 64)), "another format"),
        (task(1, "/images_dropped"), json!(false), "only contained if"),
        (task(2, "/images_dropped"), json!(true), "has some"),
        (task(2, "/directives/faults/0/text"), json!("html@poll"), "does not apply"),
        (task(2, "/timeline/0/kind"), json!("slept"), "unknown variant"),
    ];
    are_refused(&cases).await;
}

#[tokio::test]
async fn in_the_pictures() {
    let picture =
        |number: u8, pointer: &str| format!("/records/tasks/kept/{number}/picture{pointer}");
    let input = picture(2, "/inputs/0/image/inline");
    let cut = &png(64, 64)[..80];
    let setting = |pointer: &str| picture(0, &format!("/settings/{pointer}"));
    let long_video = json!({ "video": { "duration": 21, "fps": 2 } });
    let cases = [
        (picture(0, "/size"), json!([0, 64]), "max_output_side"),
        (picture(0, "/size"), json!([8193, 64]), "max_output_side"),
        (picture(0, "/size"), json!([8192, 8192]), "max_output_pixels"),
        (picture(0, "/format"), json!("gif"), "unknown variant"),
        (picture(0, "/seed"), json!("many"), "not an integer"),
        (picture(0, "/prompt"), json!("x".repeat((1 << 20) + 1)), "mebibyte"),
        (setting("image_prompt_strength"), json!(2), "out of range"),
        (setting("guidance"), json!({ "value": 3, "neutral": 0 }), "out of range"),
        (setting("mode"), json!("m".repeat(65)), "out of range"),
        (picture(0, "/moments"), json!([21.0]), "longest video"),
        (picture(0, "/moments"), json!(vec![1; 33]), "more images"),
        (picture(5, "/format"), json!("png"), "pictures or videos"),
        (picture(5, "/format"), long_video, "exceeds the limits"),
        (picture(2, "/inputs/0/place"), json!("x".repeat(5000)), "4096 bytes"),
        (input.clone(), json!("???"), "Invalid symbol"),
        (input.clone(), json!("AAAA"), "not a jpeg"),
        (input.clone(), json!("http://example.com/a.png"), "not a URL"),
        (input.clone(), json!(cut), "could not decode"),
        (input, json!(null), "expected a string"),
    ];
    are_refused(&cases).await;
}

#[tokio::test]
async fn what_is_not_a_document() {
    let bench = prepared().await;
    let document = bench.snapshot().await;
    let url = format!("{}/api/snapshot", bench.sim.control_url());
    let json = [("content-type", "application/json")];
    let cut = &document.to_string()[..500];
    for (body, kind, status) in [
        ("", &json, 400),
        (cut, &json, 400),
        ("{}", &json, 422),
        ("[]", &json, 422),
        ("null", &json, 422),
        ("{\"version\":3}", &json, 422),
        (&document.to_string(), &[("content-type", "text/plain")], 400),
    ] {
        let response = bench.send("PUT", &url, kind, body.to_owned()).await;
        assert_eq!(response.status, status, "{body:.80}: {response:?}");
        assert!(bench.snapshot().await == document, "{body:.80}");
    }
}

#[tokio::test]
async fn documents_that_are_too_large() {
    let bench = Bench::with(Config { max_kept_bytes: 1000, ..config() }).await;
    let large = " ".repeat((16 << 20) + 2001);
    let url = format!("{}/api/snapshot", bench.sim.control_url());
    let json = [("content-type", "application/json")];
    let response = bench.send("PUT", &url, &json, large.clone()).await;
    let detail = response.json()["detail"].to_string();
    assert!(response.status == 413 && detail.contains("raise `max_kept_bytes`"), "{response:?}");
    let fits = bench.send("PUT", &url, &json, large[1..].to_owned()).await;
    assert_eq!(fits.status, 400, "it is not JSON: {fits:?}");
}
