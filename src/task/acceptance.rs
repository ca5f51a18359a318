//! Finds the task in a response to a submission. The task is billed, so this also finds tasks in
//! responses that do not match the contract.

use serde_json::Value;
use url::Url;

use crate::{
    Address, Request, TaskRef,
    contract::{Findings, Unexpected, read_response},
    transport::{redaction::Redaction, response::Response, service::result_url},
    types::{AsyncResponse, AsyncWebhookResponse},
    values::hash::short_hash,
};

/// The members of the outermost object that may contain the object that describes the task, in a
/// response or in a webhook.
pub(crate) const WRAPPERS: [&str; 4] = ["data", "task", "response", "result"];

/// The response to an accepted submission, in one of the two forms that the contract defines.
///
/// Fields that the contract does not define, or whose values have a different type, are in `extra`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SubmissionResponse {
    /// The default form. If the response had no `polling_url`, it contains the URL that the client
    /// polls instead.
    Async(AsyncResponse),
    /// The form for a submission with a webhook.
    Webhook(AsyncWebhookResponse),
}

/// A task found in a response, and the object that describes it.
pub(super) struct FoundTask<'a> {
    pub(super) task: TaskRef,
    object: &'a Value,
    /// The member of the outermost object that contains it, if it is not the outermost itself.
    wrapper: Option<&'static str>,
}

/// Finds the task in a response to a submission, by its id, its polling URL, or both. A task
/// without a polling URL (a submission with a webhook) is polled by its id, at the base URL that
/// accepted it.
pub(super) fn find_task<'a>(
    response: &'a Response,
    request: &Request,
    base: &Url,
    redaction: &Redaction,
) -> Option<FoundTask<'a>> {
    let document = response.object()?;
    let wrapped = WRAPPERS.iter().filter_map(|name| Some((Some(*name), document.get(name)?)));
    std::iter::once((None, document)).chain(wrapped).find_map(|(wrapper, object)| {
        let id = object.get("id").and_then(id_text);
        let polling_url = polling_url_of(object, base, redaction);
        let (id, polling_url) = match (id, polling_url) {
            (Some(id), Some(url)) => (id, url.into()),
            (Some(id), None) => {
                let url = result_url(base, &id);
                (id, url)
            }
            // The polling URL alone is enough, provided that it has a host.
            (None, Some(url)) if url.has_host() => (id_in(&url), url.into()),
            (None, _) => return None,
        };
        // The service may echo the key as the id. Ids appear in logs and errors, so the key must
        // not be in one.
        let id = redaction.redact(&id);
        let task = TaskRef::new(id, polling_url, Some(request.model_name()))
            .in_region(request.operation().region)
            .with_cost(object.get("cost").and_then(Value::as_f64));
        Some(FoundTask { task, object, wrapper })
    })
}

impl FoundTask<'_> {
    /// Parses the response into its contract type, and finds what the contract does not define.
    pub(super) fn response(
        &self,
        redaction: &Redaction,
    ) -> (Option<SubmissionResponse>, Findings<'_>) {
        let mut value = self.object.clone();
        redaction.redact_json_except_urls(&mut value);
        let mut unexpected = mistyped_references(&value);
        insert(&mut value, "id", self.task.id());
        if value.get("polling_url").is_none_or(Value::is_null)
            && let (Some(response), more) = read_response::<AsyncWebhookResponse>(value.clone())
        {
            unexpected.add(more);
            let findings = self.findings("AsyncWebhookResponse", unexpected);
            return (Some(SubmissionResponse::Webhook(response)), findings);
        }
        insert(&mut value, "polling_url", self.task.polling_url().reveal());
        let (response, more) = read_response::<AsyncResponse>(value);
        unexpected.add(more);
        (response.map(SubmissionResponse::Async), self.findings("AsyncResponse", unexpected))
    }

    fn findings(&self, response: &'static str, found: Unexpected) -> Findings<'_> {
        let unexpected = match self.wrapper {
            Some(name) => {
                let mut outer = found.within(name);
                outer.unlisted(name);
                outer
            }
            None => found,
        };
        Findings { operation: self.task.operation(), response, unexpected, ..Findings::default() }
    }
}

fn insert(object: &mut Value, name: &str, text: &str) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), text.into());
    }
}

/// Finds an id or a polling URL of an unexpected type. This must run before both are replaced with
/// the values that the client uses.
fn mistyped_references(object: &Value) -> Unexpected {
    let mut unexpected = Unexpected::default();
    for name in ["id", "polling_url"] {
        if let Some(value) = object.get(name)
            && !value.is_string()
            && !value.is_null()
        {
            unexpected.mistyped(name, value);
        }
    }
    unexpected
}

/// Returns whether the response has a polling URL, which the service sends only for a task.
pub(super) fn has_polling_url(response: &Response) -> bool {
    response.get("polling_url").and_then(id_text).is_some()
}

/// Returns a value as text, if it is a nonempty string or a number.
pub(crate) fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn polling_url_of(object: &Value, base: &Url, redaction: &Redaction) -> Option<Url> {
    let text = object.get("polling_url")?.as_str().filter(|text| !text.is_empty())?;
    // Resolves a polling URL without a host against the base URL.
    let url = base.join(text).ok()?;
    // The printed form of the polling URL must not contain the key.
    (!redaction.is_in(&Address::from(url.clone()).to_string())).then_some(url)
}

/// Derives an id for a task if only its polling URL is known. If the URL does not clearly contain
/// the id, a hash of the URL makes it unique: all tasks may share the path, and the query may be
/// secret.
fn id_in(url: &Url) -> String {
    let in_query = url.query_pairs().find(|(name, _)| name == "id").map(|(_, id)| id.into_owned());
    if let Some(id) = in_query.filter(|id| !id.is_empty()) {
        return id;
    }
    let segment = url.path_segments().and_then(|mut segments| segments.next_back());
    match segment.filter(|segment| !segment.is_empty()) {
        Some(segment) if is_clearly_an_id(segment) => segment.to_owned(),
        segment => format!("{}-{}", segment.unwrap_or("unnamed"), short_hash(&[url.as_str()])),
    }
}

/// Returns whether the last segment of a path is an id, such as a UUID, and not a name such as
/// `result`.
fn is_clearly_an_id(segment: &str) -> bool {
    segment.len() >= 8
        && segment.bytes().any(|byte| byte.is_ascii_digit())
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
