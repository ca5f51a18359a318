//! What programs send to the simulator: faults, ranges of files, and searches of its journal.

use std::sync::LazyLock;

use imagekiln::{Client, types::Gen2Pro};
use imagekiln_simulator::{
    Config, FaultPlace, Faults, RequestRecord, Simulator,
    fuzzing::{ReadFault, Requests, Source, is_excessive, range as requested, read_fault, words},
};
use serde_json::{Value, json};

use crate::service::run;

/// A fault without a place or a frequency is the same as one that names its defaults. A refusal
/// has one bounded line, and words in texts are only faults of submissions.
pub fn fault(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let requests = [FaultPlace::Poll, FaultPlace::Delivery].map(Source::Request);
    for source in [Source::Rule, Source::Submission].into_iter().chain(requests) {
        match read_fault(text, source) {
            Ok(fault) => assert_defaults(text, source, &fault),
            Err(error) => assert!(error.to_string().chars().count() < 200, "{error}"),
        }
    }
    let found = words(&json!({ "prompt": text, "more": [format!("[[{text}]]")] }));
    assert!(found.len() <= 16);
    assert!(found.iter().all(|word| read_fault(word, Source::Submission).is_ok()), "{found:?}");
    assert!(!is_excessive(data) || data.len() > 200, "{text}");
}

fn assert_defaults(text: &str, source: Source, fault: &ReadFault) {
    assert!(Faults::known().iter().any(|known| known.name == fault.name), "{fault:?}");
    assert_eq!(text.split(['@', '=', ':']).next(), Some(fault.name));
    let (name, rest) = text.split_at(fault.name.len());
    let same = |text: String| assert_eq!(read_fault(&text, source).as_ref(), Ok(fault), "{text}");
    if source != Source::Rule && !rest.starts_with('@') {
        same(format!("{name}@{}{rest}", fault.places[0]));
    }
    // After a colon there may be a frequency.
    if !rest.contains(':') {
        same(format!("{text}:{}", if source == Source::Rule { "always" } else { "once" }));
    }
}

/// A range is within the file, and it is the one that was asked for.
pub fn range(data: &[u8]) {
    for length in [0, 1, 10, 4096, usize::MAX] {
        match requested(data, length) {
            Some(Ok(range)) => {
                assert!(range.start < range.end && range.end <= length, "{range:?} of {length}");
                let header = format!("bytes={}-{}", range.start, range.end - 1);
                assert_eq!(requested(header.as_bytes(), length), Some(Ok(range)));
            }
            Some(Err(())) => assert!(data.starts_with(b"bytes=")),
            None => {}
        }
    }
}

/// What a pattern finds has its values, and is ordered from the newest to the oldest.
pub fn request_pattern(data: &[u8]) {
    static REQUESTS: LazyLock<Requests> = LazyLock::new(|| Requests::new(run(records())));
    let found = match REQUESTS.find(data) {
        Ok(found) => found,
        Err(problem) => return assert!(!problem.is_empty()),
    };
    let pattern: Value = serde_json::from_slice(data).expect("a pattern is JSON");
    assert!(found.len() <= 1000);
    assert!(found.is_sorted_by(|newer, older| newer.number > older.number));
    for record in found {
        let text = |name: &str| pattern.get(name).and_then(Value::as_str);
        let starts = |found: &str, pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => found.starts_with(start),
            None => found == pattern,
        };
        assert!(text("method").is_none_or(|method| method.eq_ignore_ascii_case(&record.method)));
        assert!(text("path").is_none_or(|path| starts(&record.path, path)));
        let operation = record.operation.as_deref().unwrap_or("\0");
        assert!(text("operation").is_none_or(|wanted| starts(operation, wanted)));
        assert!(text("task_id").is_none_or(|id| record.task_id.as_deref() == Some(id)));
        let before = pattern.get("before").and_then(Value::as_u64);
        assert!(before.is_none_or(|before| record.number < before));
        let status = record.status.map(|status| status.to_string()).unwrap_or_default();
        let wanted = pattern.get("status").filter(|status| !status.is_null());
        let wanted = wanted.map(|wanted| wanted.to_string().trim_matches('"').to_owned());
        let is_found = |wanted: &String| match wanted.strip_suffix("xx") {
            Some(digit) => status.starts_with(digit.trim_start_matches(['+', '0'])),
            None => wanted.parse::<u16>().ok() == status.parse().ok(),
        };
        assert!(wanted.as_ref().is_none_or(is_found), "{status} {wanted:?}");
    }
}

/// Requests of a client, some of which were refused.
async fn records() -> Vec<RequestRecord> {
    let simulator = Simulator::start(Config::default()).await.expect("a simulator");
    let client = |key: &str| {
        let builder = Client::builder().api_key(key).base_url(simulator.base_url());
        builder.validation(false).build().expect("the settings are complete")
    };
    let (known, unknown) = (client(simulator.api_key()), client("unknown"));
    for width in [64, 256, 1] {
        let request = || Gen2Pro::new("a red fox").width(width).height(64);
        if let Ok(task) = known.submit(request()).await {
            let _ = task.poll().await;
        }
        let _ = unknown.submit(request()).await;
    }
    let records = simulator.requests();
    assert!(records.len() >= 6, "{records:?}");
    records
}
