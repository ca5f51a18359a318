//! Recordings that were changed by hand.

use serde_json::{Value, json};

use crate::program::Recordings;

fn submission() -> Value {
    json!({
        "purpose": "submission",
        "operation": "gen-2-pro",
        "recorded_at": 1_800_000_000,
        "method": "POST",
        "path": "/v1/gen-2-pro",
        "status": 200,
        "request": { "json": { "prompt": "[text, 21 characters]", "width": 64 } },
        "response": { "json": {
            "id": "t1",
            "polling_url": "https://api.example.com/v1/get_result?[redacted]",
            "cost": 4,
        } },
    })
}

fn poll() -> Value {
    let sample = "https://cdn.example.com/fox.png?[redacted]";
    json!({
        "purpose": "poll",
        "operation": "gen-2-pro",
        "recorded_at": 1_800_000_000,
        "method": "GET",
        "path": "/v1/get_result",
        "status": 200,
        "request": null,
        "response": { "json": { "id": "t1", "status": "Ready", "result": { "sample": sample } } },
    })
}

/// Changes the value at a pointer, and returns the findings.
#[track_caller]
fn found(mut recording: Value, pointer: &str, value: Value) -> Vec<String> {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    recording.pointer_mut(parent).unwrap()[name] = value;
    let recordings = Recordings::new();
    let mut outcome = recordings.add_json("a.json", &recording).check(&[]);
    let summary = outcome.lines.pop().unwrap();
    let count = outcome.lines.len();
    assert_eq!(summary, format!("recordings: 1, findings: {count}"));
    assert_eq!(outcome.code, i32::from(count > 0), "{}", outcome.errors);
    outcome.lines
}

#[test]
fn unchanged_recordings_fit() {
    assert_eq!(found(submission(), "/status", json!(200)), [""; 0]);
    assert_eq!(found(poll(), "/response/json/status", json!("Processing")), [""; 0]);
    assert_eq!(found(poll(), "/response", json!("too_large")), [""; 0]);
    assert_eq!(found(poll(), "/response", json!("incomplete")), [""; 0]);
    let refused = json!({ "width": "wide" });
    let mut recording = submission();
    recording["response"] = json!({ "json": { "detail": [] } });
    recording["request"]["json"] = refused;
    assert_eq!(found(recording, "/status", json!(422)), [""; 0]);
}

#[test]
fn a_new_status_is_found() {
    let found = found(poll(), "/response/json/status", json!("Cancelled\u{1b}"));
    let [line] = found.as_slice() else { panic!("{found:?}") };
    let start =
        "a.json: get_result, response /status: expected one of Ready, Error, Request Moderated";
    assert!(line.starts_with(start), "{line}");
    assert!(line.contains("--in-progress \"Cancelled\\u{1b}\""), "{line}");

    let mut recording = poll();
    recording["response"]["json"]["status"] = json!("Queued");
    let recordings = Recordings::new();
    let outcome = recordings.add_json("a.json", &recording).check(&["--in-progress", "Queued"]);
    assert_eq!(outcome.code, 0, "{:?}", outcome.lines);
}

#[test]
fn a_new_field_is_found() {
    assert_eq!(
        found(poll(), "/response/json/result/eta~", json!(7)),
        ["a.json: get_result, response /result/eta~0: expected no such field"]
    );
    assert_eq!(
        found(submission(), "/response/json/queue", json!(7)),
        ["a.json: gen-2-pro, response /queue: expected no such field"]
    );
    let violation = json!({ "loc": ["body"], "msg": "m", "type": "t", "input": 1 });
    let mut recording = submission();
    recording["status"] = json!(422);
    assert_eq!(
        found(recording, "/response/json", json!({ "detail": [violation] })),
        ["a.json: gen-2-pro, response /detail/0/input: expected no such field"]
    );
}

#[test]
fn a_changed_type_is_found() {
    assert_eq!(
        found(submission(), "/response/json/cost", json!("4")),
        [concat!(
            "a.json: gen-2-pro, response /cost: ",
            "Input should be a valid number, unable to parse string as a number"
        )]
    );
    assert_eq!(
        found(poll(), "/response/json/result", json!([])),
        ["a.json: get_result, response /result: Input should be a valid dictionary"]
    );
    assert_eq!(
        found(poll(), "/response/json", json!([])),
        [concat!(
            "a.json: get_result, response: ",
            "Input should be a valid dictionary or object to extract fields from"
        )]
    );
}

#[test]
fn a_missing_field_is_found() {
    let without_id = json!({ "polling_url": "https://api.example.com/v1/get_result" });
    assert_eq!(
        found(submission(), "/response/json", without_id),
        ["a.json: gen-2-pro, response /id: Field required"]
    );
    // An operation without the form for webhooks.
    let mut recording = submission();
    recording["operation"] = json!("gen-dev");
    recording["request"]["json"] = json!({ "prompt": "[text, 1 characters]" });
    assert_eq!(
        found(recording, "/response/json", json!({ "id": "t1" })),
        ["a.json: gen-dev, response /polling_url: Field required"]
    );
}

#[test]
fn an_undefined_status_code_is_found() {
    assert_eq!(
        found(poll(), "/status", json!(404)),
        ["a.json: get_result, status code: expected one of 200, 403, 422, found 404"]
    );
    assert_eq!(
        found(poll(), "/response", json!("not_json")),
        ["a.json: get_result, response: expected a JSON document"]
    );
}

#[test]
fn a_request_that_the_service_should_refuse_is_found() {
    let found_in = |request: Value| found(submission(), "/request/json", request);
    assert_eq!(
        found_in(json!({ "prompt": "[text, 3 characters]", "width": 1, "seed": "7" })),
        [
            concat!(
                "a.json: gen-2-pro, request /seed: ",
                "Input should be a valid integer, unable to parse string as an integer"
            ),
            "a.json: gen-2-pro, request /width: Input should be greater than or equal to 64",
        ]
    );
    let url = "[text, 2084 characters]";
    let found = found_in(json!({ "prompt": "[text, 3 characters]", "webhook_url": url }));
    let expected = "request /webhook_url: String should have at most 2083 characters";
    assert!(found.iter().any(|problem| problem.contains(expected)), "{found:?}");
}

#[test]
fn an_unknown_operation_is_found() {
    assert_eq!(
        found(submission(), "/operation", json!("gen-9-new")),
        ["a.json: gen-9-new, request: the contract has no such operation"]
    );
}

/// A JSON Schema integer may be written `1.0`, which the type does not take.
#[test]
fn a_response_that_only_the_type_refuses_is_found() {
    let violation = json!({ "loc": [1.0], "msg": "m", "type": "t" });
    let mut recording = submission();
    recording["status"] = json!(422);
    let found = found(recording, "/response/json", json!({ "detail": [violation] }));
    let [line] = found.as_slice() else { panic!("{found:?}") };
    let start = "a.json: gen-2-pro, response: the type HttpValidationError does not fit: ";
    assert!(line.starts_with(start), "{line}");
}

/// A response with the fields of both forms is the first one, with fields that it does not list.
#[test]
fn fields_of_both_forms_are_found() {
    let mut recording = submission();
    recording["response"]["json"]["status"] = json!("Pending");
    let found = found(recording, "/response/json/webhook_url", json!("https://a.example/"));
    assert_eq!(
        found,
        [
            "a.json: gen-2-pro, response /status: expected no such field",
            "a.json: gen-2-pro, response /webhook_url: expected no such field",
        ]
    );
}

#[test]
fn equal_findings_are_counted() {
    let mut recording = poll();
    recording["response"]["json"]["not_defined"] = json!(0.5);
    let recordings = Recordings::new();
    for name in ["a.json", "b.json", "c.json"] {
        recordings.add_json(name, &recording);
    }
    let outcome = recordings.check(&[]);
    assert_eq!(
        outcome.lines,
        [
            "a.json: get_result, response /not_defined: expected no such field (3 times)",
            "recordings: 3, findings: 1",
        ]
    );
}

#[test]
fn files_that_are_not_recordings_are_errors() {
    let recordings = Recordings::new();
    recordings.add_json("a.json", &poll()).add("README.md", "not read");
    assert_eq!(recordings.check(&[]).code, 0);
    for (content, problem) in [
        ("{\"purpose\":", "is not JSON"),
        ("{\"hello\": 1}", "is not a recording: missing field"),
        ("", "is not JSON"),
    ] {
        let outcome = recordings.add("b.json", content).check(&[]);
        let expected = format!("error: b.json: {problem}");
        assert!(outcome.errors.starts_with(&expected), "{}", outcome.errors);
        assert_eq!((outcome.code, outcome.lines.len()), (2, 1));
    }
    let empty = Recordings::new().check(&[]);
    assert!(empty.errors.contains("contains no recordings"), "{}", empty.errors);
    assert_eq!(empty.code, 2);
}
