//! The result of a poll.

use std::{sync::Arc, time::SystemTime};

use serde_json::Value;

use super::{Shared, TaskRef, drift::Findings};
use crate::{
    Address, Extra, Picture, TaskStatus,
    contract::read_response,
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
    response: &mut Response,
    redaction: &Redaction,
    asked_at: SystemTime,
) -> Option<Update> {
    let object = response.object()?;
    let status = object.get("status").and_then(Value::as_str);
    let status = status.map(|status| match TaskStatus::from(status) {
        // A status that the contract does not list is text of the service.
        TaskStatus::InProgress(_) => TaskStatus::from(redaction.redact(status).as_str()),
        listed => listed,
    });
    let sample = object.get("result").and_then(|result| result.get("sample"));
    let has_sample = sample.is_some();
    let address = match status {
        Some(TaskStatus::Ready) => sample.and_then(delivery_url),
        _ => None,
    };
    // `Ready` without a usable delivery URL is not a success. A later poll may return one.
    let is_usable = match status {
        Some(TaskStatus::Ready) => address.is_some(),
        Some(_) => true,
        None => false,
    };
    let findings = findings_of(response, status.as_ref(), has_sample);
    // If it is not usable, the response is still needed for the error.
    let mut object = if is_usable { response.take_object()? } else { object.clone() };
    redaction.redact_json_except_urls(&mut object);
    let (read, unexpected) = read_response::<PollResult>(object);
    if let Some(mut findings) = findings {
        findings.operation = task.operation();
        findings.unexpected.add(unexpected);
        shared.drift.report(findings);
    }
    if !is_usable {
        return None;
    }
    let source = || Arc::clone(shared) as _;
    let picture = address.map(|address| Picture::new(source(), task.clone(), address, asked_at));
    Some(Update { status: status?, response: read?, picture })
}

/// Returns what the contract does not define in a poll response, except the names of its members.
fn findings_of<'a>(
    response: &Response,
    status: Option<&'a TaskStatus>,
    has_sample: bool,
) -> Option<Findings<'a>> {
    // A failed response without a status says nothing about the task.
    if status.is_none() && !response.status.is_success() {
        return None;
    }
    let status = status.filter(|status| !status.is_final());
    let has_picture = status.is_some() && has_sample;
    let findings = Findings { response: "PollResult", status, has_picture, ..Findings::default() };
    Some(findings.with_type_of(response))
}

fn delivery_url(sample: &Value) -> Option<Address> {
    let address = Address::from(sample.as_str()?);
    let url = address.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(address)
}
