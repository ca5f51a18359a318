//! Invalid documents are refused, and change nothing.

use axum::http::Method;
use serde_json::{Value, json};

use super::{config, prepared};
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

/// The place of a pointer: `a.b[0]` for `/a/b/0`.
fn place_of(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| match step.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) => format!(".{step}"),
    });
    steps.collect::<String>().trim_start_matches('.').to_owned()
}

/// Puts each value at its pointer, and compares the place and a part of the problem. A dot is the
/// place of the pointer.
async fn are_refused(cases: impl IntoIterator<Item = (&str, Value, &str, &str)>) {
    let bench = prepared().await;
    let document = bench.snapshot().await;
    for (pointer, value, place, problem) in cases {
        let mut changed = document.clone();
        let place = if place == "." { place_of(pointer) } else { place.to_owned() };
        set(&mut changed, pointer, value.clone());
        let case = format!("{pointer} {:.80}", value.to_string());
        let response = bench.restore(&changed).await;
        assert_eq!(response.status, 422, "{case}: {response:?}");
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        let start = format!("could not restore the snapshot: {place}: ");
        assert!(detail.starts_with(&start) && detail.contains(problem), "{case}: {detail}");
        assert!(detail.ends_with("The simulator is unchanged"), "{case}: {detail}");
        assert!(bench.snapshot().await == document, "{case}");
    }
}

#[tokio::test]
async fn in_the_document() {
    are_refused([
        ("/version", json!(2), "the document", "version 2 is not supported"),
        ("/version", json!(null), "the document", "`version` is missing"),
        ("/version", json!("1"), "the document", "invalid type"),
        ("/more", json!(1), ".", "unknown field"),
        ("/speed", json!(-1), ".", "from 0 to 100000"),
        ("/speed", json!(1e300), ".", "from 0 to 100000"),
        ("/polls", json!(1u64 << 60), ".", "larger than 2^53"),
        ("/polls", json!(-1), ".", "invalid value"),
        ("/refused", json!({ "x": 1 }), ".", "expected"),
        ("/refused", json!({ "422": 1e300 }), "refused.422", "invalid type"),
        ("/faults/rules/0/text", json!("no-fault"), ".", "unknown fault"),
        ("/faults/rules/0/id", json!(0), ".", "ascending"),
        ("/faults/rules_made", json!(0), "faults.rules[0].id", "at most `rules_made`"),
        ("/faults/applied", json!({ "no-fault": 1 }), ".", "not that of a fault"),
    ])
    .await;
}

#[tokio::test]
async fn in_the_accounts() {
    let digest = "0".repeat(63);
    are_refused([
        ("/accounts/organizations/0/name", json!("!"), ".", "letter"),
        (
            "/accounts/organizations/0/name",
            json!("DEFAULT"),
            "accounts.organizations[1].name",
            "same id",
        ),
        (
            "/accounts/organizations/0/members/0/projects/none",
            json!("viewer"),
            "accounts.organizations[0].members",
            "unknown project",
        ),
        ("/accounts/organizations/0/members/0/role", json!("king"), ".", "unknown variant"),
        (
            "/accounts/organizations/0/projects/0/endpoints",
            json!(["gen-nope"]),
            ".",
            "matches no operation",
        ),
        ("/accounts/organizations/0/projects/0/limits/daily", json!(-3), ".", "not an amount"),
        ("/accounts/organizations/0/finetunes/0/name", json!("a/b"), ".", "slash"),
        ("/accounts/keys/0/sha256", json!(digest), ".", "64 hexadecimal"),
        ("/accounts/keys/0/id", json!("key-9"), ".", "at most `keys_made`"),
        ("/accounts/keys/0/id", json!("key-01"), ".", "`key-` and a number"),
        ("/accounts/keys/0/project", json!("none"), ".", "no project"),
        ("/accounts/keys/0/masked", json!("…the-whole-key"), ".", "ellipsis"),
        (
            "/accounts/ledger/balances/issued",
            json!("0"),
            "accounts.ledger.balances",
            "add up to zero",
        ),
        ("/accounts/ledger/balances/charged", json!("-1"), "accounts.ledger.balances", "negative"),
        (
            "/accounts/ledger/balances/organization:none",
            json!("0"),
            "accounts.ledger.balances",
            "unknown organization",
        ),
        ("/accounts/ledger/entries/0/number", json!(2), ".", "not consecutive"),
        (
            "/accounts/ledger/entries/0/to",
            json!("organization:none"),
            "accounts.ledger.entries[0]",
            "unknown organization",
        ),
        ("/accounts/audit/1/number", json!(1), ".", "not consecutive"),
    ])
    .await;
}

#[tokio::test]
async fn in_the_tasks() {
    let values = format!("[{}0]", "0,".repeat(20_000));
    are_refused([
        ("/tasks/accepted", json!(1), ".", "more than the counters"),
        ("/tasks/kept/0/number", json!(1u64 << 50), ".", "below `accepted`"),
        ("/tasks/ready", json!(0), "tasks.accepted", "more than the counters"),
        ("/tasks/kept/1/number", json!(0), ".", "ascending"),
        ("/tasks/kept/0/id", json!("../../etc"), ".", "not the id of a task"),
        ("/tasks/kept/0/project", json!("none"), ".", "no project"),
        ("/tasks/kept/0/operation", json!("gen-nope"), ".", "no operation"),
        ("/tasks/kept/0/operation", json!("get_result"), ".", "no operation"),
        (
            "/tasks/kept/0/operation",
            json!("gen-3-video"),
            "tasks.kept[0].picture.format",
            "pictures or videos",
        ),
        ("/tasks/kept/0/region", json!("mars"), ".", "unknown variant"),
        ("/tasks/kept/0/request", json!("{"), ".", "not JSON"),
        ("/tasks/kept/0/request", json!(values), ".", "too many values"),
        ("/tasks/kept/0/accepted_at", json!(1), ".", "before the snapshot"),
        ("/tasks/kept/0/final_at", json!(i64::MIN), "tasks.kept[0].accepted_at", "before it ends"),
        ("/tasks/kept/0/cost", json!(0.001), ".", "decimal places"),
        ("/tasks/kept/0/painted", json!("AAAA"), ".", "not a jpeg"),
        ("/tasks/kept/1/painted", json!(png(64, 64)), ".", "another format"),
        ("/tasks/kept/1/images_dropped", json!(false), "tasks.kept[1].painted", "were dropped"),
        ("/tasks/kept/2/images_dropped", json!(true), ".", "has some"),
        ("/tasks/kept/2/faults/0/text", json!("html@poll"), ".", "does not apply"),
        ("/tasks/kept/2/timeline/0/kind", json!("slept"), ".", "unknown variant"),
    ])
    .await;
}

#[tokio::test]
async fn in_the_pictures() {
    let input = "/tasks/kept/2/picture/inputs/0/image";
    let place = "tasks.kept[2].picture.inputs[0].image";
    let cut = &png(64, 64)[..80];
    are_refused([
        ("/tasks/kept/0/picture/size", json!([0, 64]), ".", "max_output_side"),
        ("/tasks/kept/0/picture/size", json!([8193, 64]), ".", "max_output_side"),
        ("/tasks/kept/0/picture/size", json!([8192, 8192]), ".", "max_output_pixels"),
        ("/tasks/kept/0/picture/format", json!("gif"), ".", "unknown variant"),
        ("/tasks/kept/0/picture/seed", json!("many"), ".", "not an integer"),
        ("/tasks/kept/0/picture/settings/image_prompt_strength", json!(2), ".", "from 0 to 1"),
        (
            "/tasks/kept/0/picture/settings/guidance",
            json!({ "value": 3, "neutral": 0 }),
            ".",
            "not in range",
        ),
        (
            "/tasks/kept/0/picture/settings/mode",
            json!("m".repeat(65)),
            "tasks.kept[0].picture.settings",
            "64 characters",
        ),
        ("/tasks/kept/0/picture/moments", json!([21.0]), ".", "longest video"),
        ("/tasks/kept/0/picture/moments", json!(vec![1; 33]), ".", "33 items"),
        ("/tasks/kept/5/picture/format", json!("png"), ".", "pictures or videos"),
        (
            "/tasks/kept/5/picture/format",
            json!({ "video": { "duration": 21, "fps": 2 } }),
            "tasks.kept[5].picture.format.video",
            "exceeds the limits",
        ),
        ("/tasks/kept/2/picture/inputs/0/place", json!("x".repeat(5000)), ".", "4096 bytes"),
        (input, json!("???"), place, "Invalid symbol"),
        (input, json!("AAAA"), place, "not a jpeg"),
        (input, json!(cut), place, "could not decode"),
        (input, json!(null), "tasks.kept[2].picture.inputs[0]", "either an `image` or a `host`"),
    ])
    .await;
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
        ("{\"version\":1}", &json, 422),
        (&document.to_string(), &[("content-type", "text/plain")], 400),
    ] {
        let response = bench.send(Method::PUT, &url, kind, body.to_owned()).await;
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
    let response = bench.send(Method::PUT, &url, &json, large.clone()).await;
    let detail = response.json()["detail"].to_string();
    assert!(response.status == 413 && detail.contains("raise `max_kept_bytes`"), "{response:?}");
    let fits = bench.send(Method::PUT, &url, &json, large[1..].to_owned()).await;
    assert_eq!(fits.status, 400, "it is not JSON: {fits:?}");
}
