//! What a test reads if the number of requests is not the expected one: those that differ least
//! from a pattern, and what differs.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::{RequestPattern, RequestRecord, pattern};
use crate::values::names;

/// The maximum number of requests to list.
const MAX_LISTED: usize = 5;

/// The maximum number of fields to list of a request, and of characters to show of a value.
const MAX_FIELDS: usize = 5;
const MAX_VALUE: usize = 80;

/// What is wrong, if anything is: a line, and one for each of the requests that explain it.
/// `records` are all requests, oldest first, and `text` is the pattern in the words of the caller.
pub(crate) fn problem(
    pattern: &RequestPattern,
    text: Option<&str>,
    wanted: &RangeInclusive<usize>,
    records: &[&RequestRecord],
) -> Option<String> {
    let (matching, others): (Vec<_>, Vec<_>) =
        records.iter().copied().partition(|record| pattern.matches(record));
    let count = matching.len();
    if wanted.contains(&count) {
        return None;
    }
    let at_least = if *wanted.end() == usize::MAX { "at least " } else { "" };
    let wanted = *wanted.start();
    let plural = if wanted == 1 { "" } else { "s" };
    let text = text.map(|text| format!(" `{text}`")).unwrap_or_default();
    let first =
        format!("expected {at_least}{wanted} request{plural}{text}, but there were {count}");
    let listed = if count > wanted {
        matching.into_iter().take(MAX_LISTED).map(shown).collect()
    } else {
        nearest(pattern, others)
    };
    Some([vec![first], listed].concat().join("\n  "))
}

fn nearest(pattern: &RequestPattern, records: Vec<&RequestRecord>) -> Vec<String> {
    let mut ranked: Vec<_> = records
        .into_iter()
        .map(|record| {
            let differences: Vec<_> = pattern.differences(record).collect();
            (differences, differing_fields(pattern, record), record)
        })
        .collect();
    ranked.sort_by_key(|(differences, fields, _)| (differences.len(), fields.len()));
    let line = |(differences, fields, record): (Vec<&str>, Vec<String>, &RequestRecord)| {
        let line = format!("{}: another {}", shown(record), differences.join(", "));
        if fields.is_empty() { line } else { format!("{line} ({})", fields.join(", ")) }
    };
    ranked.into_iter().take(MAX_LISTED).map(line).collect()
}

/// The fields of a body that are not those of the pattern, with their values.
fn differing_fields(pattern: &RequestPattern, record: &RequestRecord) -> Vec<String> {
    let Some(part) = &pattern.request else { return Vec::new() };
    let Some(request) = record.request() else { return vec!["no body".to_owned()] };
    let differing = pattern::differing(&request, part);
    let shown = |(path, value): (String, Option<&Value>)| {
        let path = if path.is_empty() { "the body".to_owned() } else { format!("`{path}`") };
        value.map_or(format!("no {path}"), |value| {
            format!("{path} is {}", names::bounded(&value.to_string(), MAX_VALUE))
        })
    };
    differing.into_iter().take(MAX_FIELDS).map(shown).collect()
}

/// A request in one line.
fn shown(record: &RequestRecord) -> String {
    let status = record.status.map_or("no response".to_owned(), |status| status.to_string());
    let reason = record.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{}: {} {}, {status}{reason}", record.number, record.method, record.path)
}
