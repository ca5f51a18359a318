//! Finds requests in the journal. If their number is not the expected one, explains it to the
//! author of the test: which requests differ least from the pattern, and how they differ.

use std::{iter, ops::RangeInclusive};

use axum::{extract::Query, http::Uri};
use serde::Deserialize;
use serde_json::Value;

use super::RequestRecord;
use crate::values::names;

/// The default number of requests to return, and the maximum.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1000;

/// A pattern for requests. It matches a request that has all the values of the pattern.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RequestPattern {
    method: Option<String>,
    /// A path, or the beginning of a path followed by `*`.
    path: Option<String>,
    /// An operation, or the beginning of its name followed by `*`.
    operation: Option<String>,
    region: Option<String>,
    organization: Option<String>,
    project: Option<String>,
    /// A masked key, with or without its ellipsis.
    key: Option<String>,
    status: Option<StatusPattern>,
    task_id: Option<String>,
    /// The name of a fault.
    fault: Option<String>,
    /// The location of a violation.
    violation: Option<String>,
    /// The name of a field that had no effect.
    ignored_field: Option<String>,
    /// A part of the request body.
    pub(crate) request: Option<Value>,
    /// The expected number of requests.
    pub(super) times: Option<usize>,
    /// Matches only requests whose number is lower.
    before: Option<u64>,
    /// The maximum number of requests to return.
    limit: Option<usize>,
}

impl RequestPattern {
    /// Reads a pattern such as `POST gen-2-pro?status=4xx`: a method, an operation or a path, and
    /// other values by their names. All parts are optional.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (words, query) = text.split_once('?').unwrap_or((text, ""));
        let uri = Uri::try_from(format!("/?{query}")).map_err(|error| error.to_string())?;
        let Query(mut pattern) =
            Query::<Self>::try_from_uri(&uri).map_err(|error| error.body_text())?;
        for word in words.split_whitespace() {
            let value = match word {
                word if word.starts_with('/') => &mut pattern.path,
                word if word.bytes().all(|byte| byte.is_ascii_uppercase()) => &mut pattern.method,
                _ => &mut pattern.operation,
            };
            if let Some(former) = value.replace(word.to_owned()) {
                return Err(format!("both `{former}` and `{word}`"));
            }
        }
        Ok(pattern)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(LIMIT).min(MAX_LIMIT)
    }

    pub(crate) fn matches(&self, record: &RequestRecord) -> bool {
        self.differences(record).next().is_none()
    }

    /// The names of the pattern's values that a request does not have. The body is compared last,
    /// because that is slow.
    pub(crate) fn differences<'a>(
        &'a self,
        record: &'a RequestRecord,
    ) -> impl Iterator<Item = &'static str> + 'a {
        let region = record.region.to_string();
        let is_key =
            |one: &str, key: &str| one.trim_start_matches('…') == key.trim_start_matches('…');
        let violations = record.violations.iter().map(|one| one.location.as_str());
        let ignored = record.ignored_fields.iter().map(String::as_str);
        let has_status =
            |codes: &StatusPattern| record.status.is_some_and(|it| codes.0.contains(&it));
        let values = [
            ("before", self.before.is_none_or(|before| record.number < before)),
            ("method", is(&self.method, Some(&record.method), str::eq_ignore_ascii_case)),
            ("path", is(&self.path, Some(&record.path), names::matches)),
            ("operation", is(&self.operation, record.operation.as_deref(), names::matches)),
            ("region", is(&self.region, Some(&region), str::eq)),
            ("organization", is(&self.organization, record.organization.as_deref(), str::eq)),
            ("project", is(&self.project, record.project.as_deref(), str::eq)),
            ("key", is(&self.key, record.key.as_deref(), is_key)),
            ("status", self.status.as_ref().is_none_or(has_status)),
            ("task_id", is(&self.task_id, record.task_id.as_deref(), str::eq)),
            ("fault", has(&self.fault, record.faults.iter().copied())),
            ("violation", has(&self.violation, violations)),
            ("ignored_field", has(&self.ignored_field, ignored)),
        ];
        let has_part =
            |part| record.request().is_some_and(|request| differing(&request, part).is_empty());
        let body = move || ("request", self.request.as_ref().is_none_or(has_part));
        let all = values.into_iter().chain(iter::once_with(body));
        all.filter(|(_, has)| !has).map(|(name, _)| name)
    }
}

fn is(wanted: &Option<String>, found: Option<&str>, equal: impl Fn(&str, &str) -> bool) -> bool {
    wanted.as_deref().is_none_or(|wanted| found.is_some_and(|found| equal(wanted, found)))
}

fn has<'a>(wanted: &Option<String>, mut found: impl Iterator<Item = &'a str>) -> bool {
    wanted.as_deref().is_none_or(|wanted| found.any(|found| found == wanted))
}

/// Returns the members of `part`, at any depth, that `whole` does not have, or has with another
/// value. Lists are compared item by item.
pub(super) fn differing<'a>(whole: &'a Value, part: &Value) -> Vec<(String, Option<&'a Value>)> {
    let mut found = Vec::new();
    differ("", Some(whole), part, &mut found);
    found
}

fn differ<'a>(
    path: &str,
    whole: Option<&'a Value>,
    part: &Value,
    found: &mut Vec<(String, Option<&'a Value>)>,
) {
    match (whole, part) {
        (Some(Value::Object(whole)), Value::Object(part)) => {
            for (name, part) in part {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                differ(&path, whole.get(name), part, found);
            }
        }
        (Some(Value::Array(whole)), Value::Array(part)) if whole.len() == part.len() => {
            for (index, (whole, part)) in whole.iter().zip(part).enumerate() {
                differ(&format!("{path}[{index}]"), Some(whole), part, found);
            }
        }
        // 1 and 1.0 are the same number. But two integers are not compared as floats, because seeds
        // have 64 bits, and a float would round them.
        (Some(Value::Number(whole)), Value::Number(part))
            if (whole.is_f64() || part.is_f64()) && whole.as_f64() == part.as_f64() => {}
        (whole, part) if whole == Some(part) => {}
        (whole, _) => found.push((path.to_owned(), whole)),
    }
}

/// A status code such as `422`, or `4xx` for all status codes from 400 to 499.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct StatusPattern(RangeInclusive<u16>);

impl TryFrom<Value> for StatusPattern {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, &'static str> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match (text.parse::<u16>(), text.strip_suffix("xx").map(str::parse::<u16>)) {
            (Ok(code), _) => Ok(Self(code..=code)),
            (_, Some(Ok(digit @ 1..=5))) => Ok(Self(digit * 100..=digit * 100 + 99)),
            _ => Err("`status` must be a status code such as 422, or 4xx"),
        }
    }
}

/// The maximum number of requests that an explanation lists.
const MAX_LISTED: usize = 5;

/// The maximum number of fields that are listed for a request, and of characters of a value.
const MAX_FIELDS: usize = 5;
const MAX_VALUE: usize = 80;

/// Explains why the number of matching requests is not the wanted one, in a line, and in one line
/// for each request that helps to explain it. Returns `None` if the number is the wanted one.
/// `records` are all requests, oldest first. `text` is the pattern as the caller wrote it.
pub(crate) fn problem<'a>(
    pattern: &RequestPattern,
    text: Option<&str>,
    wanted: &RangeInclusive<usize>,
    records: impl Iterator<Item = &'a RequestRecord>,
) -> Option<String> {
    let (matching, others): (Vec<_>, Vec<_>) = records.partition(|record| pattern.matches(record));
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

/// Lists the fields of a body that differ from the pattern, with their values.
fn differing_fields(pattern: &RequestPattern, record: &RequestRecord) -> Vec<String> {
    let Some(part) = &pattern.request else { return Vec::new() };
    let Some(request) = record.request() else { return vec!["no body".to_owned()] };
    let differing = differing(&request, part);
    let shown = |(path, value): (String, Option<&Value>)| {
        let path = if path.is_empty() { "the body".to_owned() } else { format!("`{path}`") };
        value.map_or(format!("no {path}"), |value| {
            format!("{path} is {}", names::bounded(&value.to_string(), MAX_VALUE))
        })
    };
    differing.into_iter().take(MAX_FIELDS).map(shown).collect()
}

/// Describes a request in one line.
fn shown(record: &RequestRecord) -> String {
    let status = record.status.map_or("no response".to_owned(), |status| status.to_string());
    let reason = record.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{}: {} {}, {status}{reason}", record.number, record.method, record.path)
}
