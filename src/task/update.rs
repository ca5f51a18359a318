//! The result of a poll.

use std::time::SystemTime;

use serde_json::Value;

use super::TaskRef;
use crate::{
    Address, Client, Extra, Picture, TaskStatus,
    contract::ReadAnswer,
    transport::{redaction::Redaction, response::Response},
    types::{PollResult, TaskResult},
};

/// The result of a successful poll.
#[derive(Debug, Clone)]
pub struct Update {
    status: TaskStatus,
    answer: PollResult,
    picture: Option<Picture>,
}

impl Update {
    /// Returns the status of the task.
    pub fn status(&self) -> &TaskStatus {
        &self.status
    }

    /// Returns the picture, if the status is [`Ready`](TaskStatus::Ready).
    pub fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// Returns the result of the task, which is present once the status is
    /// [`Ready`](TaskStatus::Ready).
    pub fn result(&self) -> Option<&TaskResult> {
        self.answer.result.as_ref()
    }

    /// Returns the complete poll response. Fields whose values do not have the type that the
    /// contract defines are in its `extra`.
    pub fn answer(&self) -> &PollResult {
        &self.answer
    }

    /// Returns the fields of the poll response that the contract does not define, for example a
    /// progress value.
    pub fn extra(&self) -> &Extra {
        &self.answer.extra
    }

    pub(super) fn into_picture(self) -> Option<Picture> {
        self.picture
    }
}

/// Reads the status and the picture from a poll response (schema `PollResult` of the contract),
/// even if other fields are damaged or have unexpected types.
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
            // `Ready` without a usable delivery URL is not a success. A later poll may return one.
            let sample = response.get("result")?.get("sample")?;
            Some(Picture::new(client.clone(), task.clone(), delivery_url(sample)?, asked_at))
        }
        _ => None,
    };
    let mut object = response.object()?.clone();
    redaction.redact_json_except_urls(&mut object);
    Some(Update { status, answer: PollResult::read(&object)?, picture })
}

fn delivery_url(sample: &Value) -> Option<Address> {
    let address = Address::from(sample.as_str()?);
    let url = address.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(address)
}
