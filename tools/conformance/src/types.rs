//! Replays responses against the generated types of the SDK.

use imagekiln::{
    Extra,
    middleware::Purpose,
    types::{AsyncResponse, AsyncWebhookResponse, HttpValidationError, PollResult},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::shape::{Problem, Shape, escaped};

/// Returns what the document defines and the type of the response does not expect. `known` is what
/// the document does not define.
pub fn problems(purpose: Purpose, status: u16, body: &Value, known: &Shape) -> Vec<Problem> {
    let is_submission = purpose == Purpose::Submission;
    // The client reads the form without a polling URL only if there is none.
    let has_polling_url = body.get("polling_url").is_some_and(|url| !url.is_null());
    let found = match status {
        422 => read("HttpValidationError", body, |error: &HttpValidationError| {
            let details = error.detail.iter().enumerate();
            let details = details
                .map(|(index, violation)| unlisted(&format!("/detail/{index}"), &violation.extra));
            [unlisted("", &error.extra), details.flatten().collect()].concat()
        }),
        200..300 if is_submission && has_polling_url => {
            read("AsyncResponse", body, |response: &AsyncResponse| unlisted("", &response.extra))
        }
        200..300 if is_submission => {
            read("AsyncWebhookResponse", body, |response: &AsyncWebhookResponse| {
                unlisted("", &response.extra)
            })
        }
        200..300 => read("PollResult", body, |response: &PollResult| {
            let result = response.result.iter();
            let inner = result.flat_map(|result| unlisted("/result", &result.extra));
            [unlisted("", &response.extra), inner.collect()].concat()
        }),
        _ => return Vec::new(),
    };
    match found {
        Ok(found) => {
            let is_known = |pointer| known.unlisted.iter().any(|known| known.pointer == pointer);
            found.into_iter().filter(|problem| !is_known(problem.pointer.clone())).collect()
        }
        // The document explains better why the type does not fit.
        Err(_) if !known.invalid.is_empty() => Vec::new(),
        Err(problem) => vec![problem],
    }
}

/// Parses a response, and returns the fields that its type does not have.
fn read<T: DeserializeOwned>(
    name: &str,
    body: &Value,
    unlisted: impl Fn(&T) -> Vec<String>,
) -> Result<Vec<Problem>, Problem> {
    match serde_json::from_value::<T>(body.clone()) {
        Ok(typed) => {
            let expected = format!("the type {name} has no such field");
            let problem = |pointer| Problem { pointer, expected: expected.clone() };
            Ok(unlisted(&typed).into_iter().map(problem).collect())
        }
        Err(error) => Err(Problem::of_whole(&format!("the type {name} does not fit: {error}"))),
    }
}

fn unlisted(pointer: &str, extra: &Extra) -> Vec<String> {
    extra.keys().map(|name| format!("{pointer}/{}", escaped(name))).collect()
}
