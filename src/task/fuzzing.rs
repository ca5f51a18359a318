//! What the fuzz targets call of this module.

use std::{sync::Arc, time::UNIX_EPOCH};

use super::{
    Shared, SubmissionResponse, Update,
    acceptance::find_task,
    poll::{self, PollError},
    refusal::{SubmitFailure, refusal},
};
use crate::{
    Error, Request, TaskRef,
    transport::{redaction::Redaction, response::Response},
};

/// Reads the response to a poll.
pub(crate) fn poll(
    shared: &Arc<Shared>,
    task: &TaskRef,
    response: Response,
) -> Result<Update, Error> {
    let url = poll::polling_url(shared, task).map_err(PollError::into_error)?;
    poll::read(shared, task, &url, response, UNIX_EPOCH).map_err(PollError::into_error)
}

/// Reads the response to a submission. `None` is an accepted submission without a task.
pub(crate) fn submission(
    shared: &Arc<Shared>,
    request: &Request,
    response: &Response,
) -> Result<Option<(TaskRef, Option<SubmissionResponse>)>, Error> {
    let base = &shared.service.base_url;
    if !response.status.is_success() {
        return Err(match refusal(shared, base, request, response) {
            SubmitFailure::Retryable { error, .. } | SubmitFailure::Failed(error) => error,
        });
    }
    let redaction = Redaction::of_request(&shared.service.secrets, request);
    let found = find_task(response, request.operation(), base, &redaction);
    Ok(found.map(|found| (found.task.clone(), found.response(&redaction).0)))
}
