//! The result of a poll.

use std::{sync::Arc, time::SystemTime};

use serde_json::Value;

use super::{Shared, TaskRef, drift::Findings};
use crate::{
    Address, Extra, Picture, TaskStatus,
    contract::{Unexpected, read_response},
    transport::{redaction::Redaction, response::Response},
    types::{PollResult, TaskResult},
};

/// The result of a successful poll.
#[derive(Debug, Clone)]
pub struct Update {
    status: TaskStatus,
    response: PollResult,
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
        self.response.result.as_ref()
    }

    /// Returns the complete poll response. Fields whose values do not have the type that the
    /// contract defines are in its `extra`.
    pub fn response(&self) -> &PollResult {
        &self.response
    }

    /// Returns the fields of the poll response that the contract does not define, for example a
    /// progress value.
    pub fn extra(&self) -> &Extra {
        &self.response.extra
    }

    /// Passes on when the task was first seen as `Ready`.
    pub(super) fn with_ready_since(mut self, first: Option<SystemTime>) -> Self {
        if let Some(first) = first {
            self.picture = self.picture.map(|picture| picture.with_ready_since(first));
        }
        self
    }

    pub(super) fn into_picture(self) -> Option<Picture> {
        self.picture
    }
}

/// Reads the status and the picture from a poll response (schema `PollResult` of the contract),
/// even if other fields are damaged or have unexpected types.
pub(super) fn read_update(
    shared: &Arc<Shared>,
    task: &TaskRef,
    response: &Response,
    redaction: &Redaction,
    asked_at: SystemTime,
) -> Option<Update> {
    let mut object = response.object()?.clone();
    redaction.redact_json_except_urls(&mut object);
    let (read, unexpected) = read_response::<PollResult>(object);
    let status = response.get("status").and_then(Value::as_str);
    let status = status.map(|status| TaskStatus::from(redaction.redact(status).as_str()));
    report(shared, task, response, status.as_ref(), unexpected);
    let status = status?;
    let picture = match status {
        TaskStatus::Ready => {
            // `Ready` without a usable delivery URL is not a success. A later poll may return one.
            let sample = response.get("result")?.get("sample")?;
            let source = Arc::clone(shared) as _;
            Some(Picture::new(source, task.clone(), delivery_url(sample)?, asked_at))
        }
        _ => None,
    };
    Some(Update { status, response: read?, picture })
}

/// Reports what the contract does not define in a poll response.
fn report(
    shared: &Shared,
    task: &TaskRef,
    response: &Response,
    status: Option<&TaskStatus>,
    unexpected: Unexpected,
) {
    // A response without a status is not about the task unless its status code says so.
    if status.is_none() && !response.status.is_success() {
        return;
    }
    let status = status.filter(|status| !status.is_final());
    let has_sample = || response.get("result").is_some_and(|result| result.get("sample").is_some());
    let findings = Findings {
        operation: task.operation(),
        response: "PollResult",
        unexpected,
        status,
        has_picture: status.is_some() && has_sample(),
    };
    shared.drift.report(findings.with_type_of(response));
}

fn delivery_url(sample: &Value) -> Option<Address> {
    let address = Address::from(sample.as_str()?);
    let url = address.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(address)
}
