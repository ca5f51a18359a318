//! Finds the task in a response to a submission.

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

/// The members of the outermost object that may contain the object that describes the task, in a
/// response or in a webhook.
pub(crate) const WRAPPERS: [&str; 4] = ["data", "task", "response", "result"];

/// The response to an accepted submission, in one of the two forms that the contract defines.
///
/// Fields that the contract does not define, or whose values have a different type, are in `extra`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
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
}

/// Finds the task in a response to a submission, by its id, its polling URL, or both. A task
/// without a polling URL (a submission with a webhook) is polled by its id, at the base URL that
/// accepted it.
pub(super) fn find_task<'a>(
    response: &'a Response,
    operation: &'static Operation,
    base: &Url,
    redaction: &Redaction,
) -> Option<FoundTask<'a>> {
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
            // The polling URL alone is enough, provided that it has a host.
            (None, Some(url)) if url.has_host() => (id_in(&url), url.into()),
            (None, _) => return None,
        };
        // The service may echo the key as an id. The id is public, so redact it.
        let id = redaction.redact(&id);
        let task = TaskRef::new(id, polling_url, Some(operation.name.to_owned()))
            .in_region(operation.region())
            .with_cost(object.get("cost").and_then(Value::as_f64));
        Some(FoundTask { task, object })
    })
}

impl FoundTask<'_> {
    /// Parses the response into its contract type.
    pub(super) fn answer(&self, redaction: &Redaction) -> Option<Answer> {
        let mut value = self.object.clone();
        redaction.redact_json_except_urls(&mut value);
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

/// Whether the response has a polling URL, which only a task has.
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
    // Resolves a polling URL without a host against the base URL.
    let url = base.join(text).ok()?;
    // The printed form of the polling URL must not contain the key.
    (!redaction.is_in(&Address::from(url.clone()).to_string())).then_some(url)
}

/// Derives an id for a task of which only the polling URL is known.
fn id_in(url: &Url) -> String {
    let in_query = url.query_pairs().find(|(name, _)| name == "id").map(|(_, id)| id.into_owned());
    let in_path = || url.path_segments()?.next_back().map(str::to_owned);
    in_query.or_else(in_path).filter(|id| !id.is_empty()).unwrap_or_else(|| "unnamed".to_owned())
}
