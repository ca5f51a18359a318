//! Which task a response names, as far as it can be read.

use serde_json::Value;
use url::Url;

use super::TaskRef;
use crate::{
    Address, Operation,
    client::result_url,
    contract::ReadAnswer,
    transport::{redaction::Redaction, response::Response},
    types::{AsyncResponse, AsyncWebhookResponse},
};

/// Members of the outermost object that may hold the one that describes the task, in a response or
/// in a webhook.
pub(crate) const WRAPPERS: [&str; 4] = ["data", "task", "response", "result"];

/// The response to an accepted submission, in one of the two shapes that the contract has. Fields
/// that the contract does not name, or that are not of its type, are in `extra`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// The usual one. Its `polling_url` is the one at which the task is polled, also if the response
    /// had none.
    Async(AsyncResponse),
    /// The one for a submission that named a webhook.
    Webhook(AsyncWebhookResponse),
}

/// A task that a response names, and the object that names it.
pub(super) struct Named<'a> {
    pub(super) task: TaskRef,
    object: &'a Value,
}

/// The task that a response to a submission names: by its id, by its polling URL, or by both. A task
/// without a polling URL (a submission with a webhook) is polled by its id, at the base that
/// accepted it.
pub(super) fn named_task<'a>(
    response: &'a Response,
    operation: &'static Operation,
    base: &Url,
    redaction: &Redaction,
) -> Option<Named<'a>> {
    let document = response.object()?;
    let wrapped = WRAPPERS.iter().filter_map(|name| document.get(name));
    std::iter::once(document).chain(wrapped).find_map(|object| {
        let id = id_of(object);
        let polling_url = polling_url_of(object, base, redaction);
        let (id, polling_url) = match (id, polling_url) {
            (Some(id), Some(url)) => (id, url.into()),
            (Some(id), None) => {
                let url = result_url(base, &id);
                (id, url)
            }
            // Enough to poll, if it is an address at all.
            (None, Some(url)) if url.has_host() => (id_in(&url), url.into()),
            (None, _) => return None,
        };
        // A service that repeats the key as an id must not make it public.
        let id = redaction.redact(&id);
        let task = TaskRef::new(id, polling_url, Some(operation.name.to_owned()))
            .in_region(operation.region())
            .with_cost(object.get("cost").and_then(Value::as_f64));
        Some(Named { task, object })
    })
}

impl Named<'_> {
    /// The response, as its type.
    pub(super) fn answer(&self, redaction: &Redaction) -> Option<Answer> {
        let mut value = self.object.clone();
        redaction.redact_json(&mut value);
        value.as_object_mut()?.insert("id".to_owned(), self.task.id().into());
        if value.get("polling_url").is_none_or(Value::is_null)
            && let Some(answer) = AsyncWebhookResponse::read(&value)
        {
            return Some(Answer::Webhook(answer));
        }
        let polling_url = self.task.polling_url().reveal().into();
        value.as_object_mut()?.insert("polling_url".to_owned(), polling_url);
        AsyncResponse::read(&value).map(Answer::Async)
    }
}

/// Whether the response has a polling URL, which nothing but a task has.
pub(super) fn has_polling_url(response: &Response) -> bool {
    response.text("polling_url").is_some()
}

fn id_of(object: &Value) -> Option<String> {
    match object.get("id")? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

fn polling_url_of(object: &Value, base: &Url, redaction: &Redaction) -> Option<Url> {
    let text = object.get("polling_url")?.as_str().filter(|text| !text.is_empty())?;
    // Joined, in case the service names its polling URL without a host.
    let url = base.join(text).ok()?;
    // What is shown of an address must not be the key.
    (!redaction.is_in(&Address::from(url.clone()).to_string())).then_some(url)
}

/// A name for a task of which only the polling URL is known.
fn id_in(url: &Url) -> String {
    let in_query = url.query_pairs().find(|(name, _)| name == "id").map(|(_, id)| id.into_owned());
    let in_path = || url.path_segments()?.next_back().map(str::to_owned);
    in_query.or_else(in_path).filter(|id| !id.is_empty()).unwrap_or_else(|| "unnamed".to_owned())
}
