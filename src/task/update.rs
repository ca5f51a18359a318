//! What a poll saw.

use std::time::SystemTime;

use serde_json::Value;

use super::TaskRef;
use crate::{
    Address, Client, Extra, Picture, TaskStatus,
    contract::ReadAnswer,
    transport::{redaction::Redaction, response::Response},
    types::{PollResult, TaskResult},
};

/// What a poll saw.
#[derive(Debug, Clone)]
pub struct Update {
    status: TaskStatus,
    answer: PollResult,
    picture: Option<Picture>,
}

impl Update {
    /// The status of the task.
    pub fn status(&self) -> &TaskStatus {
        &self.status
    }

    /// The picture, once the status is [`Ready`](TaskStatus::Ready).
    pub fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// The result of the task, which is present once the status is [`Ready`](TaskStatus::Ready).
    pub fn result(&self) -> Option<&TaskResult> {
        self.answer.result.as_ref()
    }

    /// The poll response, with all that the service said. Fields that are not of the contract's type
    /// are in its `extra`.
    pub fn answer(&self) -> &PollResult {
        &self.answer
    }

    /// Fields of the poll response that the contract does not name, for instance a progress.
    pub fn extra(&self) -> &Extra {
        &self.answer.extra
    }

    pub(super) fn into_picture(self) -> Option<Picture> {
        self.picture
    }
}

/// Reads the status and the picture from whatever can be read of the response (schema `PollResult`
/// of the contract). A field of another type than the contract shows hides neither.
pub(super) fn read_update(
    client: &Client,
    task: &TaskRef,
    response: &Response,
    redaction: &Redaction,
    asked_at: SystemTime,
) -> Option<Update> {
    let status = TaskStatus::from(redaction.redact(response.get("status")?.as_str()?).as_str());
    let picture = match status {
        TaskStatus::Ready => {
            // Without a URL that can be fetched it is not a success: polled again, one may come.
            let sample = response.get("result")?.get("sample")?;
            Some(Picture::new(client.clone(), task.clone(), delivery_url(sample)?, asked_at))
        }
        _ => None,
    };
    let mut object = response.object()?.clone();
    redaction.redact_json(&mut object);
    Some(Update { status, answer: PollResult::read(&object)?, picture })
}

fn delivery_url(sample: &Value) -> Option<Address> {
    let address = Address::from(sample.as_str()?);
    let url = address.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(address)
}
