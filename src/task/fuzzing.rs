//! What the fuzz targets call of this module.

use std::time::UNIX_EPOCH;

use super::{
    Answer, Update,
    acceptance::find_task,
    poll::{self, PollError},
    refusal::{Attempt, refusal},
};
use crate::{
    Client, Error, Request, TaskRef,
    transport::{redaction::Redaction, response::Response},
};

/// Reads the response to a poll.
pub(crate) fn poll(client: &Client, task: &TaskRef, response: Response) -> Result<Update, Error> {
    let url = poll::polling_url(client, task).map_err(PollError::into_error)?;
    poll::read(client, task, &url, response, UNIX_EPOCH).map_err(PollError::into_error)
}

/// Reads the response to a submission. `None` is an accepted submission without a task.
pub(crate) fn submission(
    client: &Client,
    request: &Request,
    response: &Response,
) -> Result<Option<(TaskRef, Option<Answer>)>, Error> {
    let base = &client.service().base_url;
    if !response.status.is_success() {
        return Err(match refusal(client, base, request, response) {
            Attempt::Retryable { error, .. } | Attempt::Failed(error) => error,
        });
    }
    let redaction = Redaction::of_request(client.service(), request);
    let found = find_task(response, request.operation(), base, &redaction);
    Ok(found.map(|found| (found.task.clone(), found.answer(&redaction).0)))
}
