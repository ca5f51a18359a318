//! One poll: a GET to the task's polling address, and what its answer means.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use serde_json::Value;
use tokio::time;
use tracing::{Instrument, field};

use super::{Task, TaskRef};
use crate::{
    Client, Error, ErrorKind, Extra, Picture, TaskStatus, WaitEnd,
    generated::types::PollResult,
    transport::{
        key::KEY_HEADER,
        reply::{Reply, Unread},
    },
};

/// A poll that takes longer than this has failed, and another one may do better.
const POLL_LIMIT: Duration = Duration::from_secs(30);

/// What a poll saw.
#[derive(Debug, Clone)]
pub struct Update {
    status: TaskStatus,
    picture: Option<Picture>,
    extra: Extra,
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

    /// What else the service said: fields that the contract does not name, for instance a progress.
    pub fn extra(&self) -> &Extra {
        &self.extra
    }

    pub(super) fn into_picture(self) -> Option<Picture> {
        self.picture
    }
}

/// Why a poll brought no update.
pub(super) enum PollError {
    /// It may work the next time: the poll failed, not the task.
    Passing(Error),
    /// It will not.
    Lasting(Error),
}

impl PollError {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Passing(error) | Self::Lasting(error) => error,
        }
    }
}

impl Task {
    /// Polls once. A failure status is an [`Update`] like any other; it is [`wait`](Self::wait) that makes an error of it.
    ///
    /// # Errors
    ///
    /// Kinds [`Network`](ErrorKind::Network), [`Service`](ErrorKind::Service), [`RateLimited`](ErrorKind::RateLimited),
    /// [`Reply`](ErrorKind::Reply): the poll failed, not the task; poll again. [`Auth`](ErrorKind::Auth),
    /// [`KeyWithheld`](ErrorKind::KeyWithheld): it will fail again until that is mended. Each carries the task's reference.
    pub async fn poll(&self) -> Result<Update, Error> {
        let update =
            poll(&self.client, &self.reference, Duration::MAX).await.map_err(PollError::into_error)?;
        if update.status.is_final() {
            self.release_slot();
        }
        Ok(update)
    }
}

/// Polls once, within the client's cap on polls under way. Waiting for a turn and the poll end within `limit`.
pub(super) async fn poll(client: &Client, task: &TaskRef, limit: Duration) -> Result<Update, PollError> {
    let span = tracing::debug_span!(
        "poll",
        operation = task.operation(),
        task_id = task.id(),
        status = field::Empty
    );
    // Boxed: the future of an HTTP exchange is large, and a waiting task should not carry it between polls.
    let polling = Box::pin(async {
        let in_turn = async {
            let Ok(_turn) = client.0.polls.acquire().await else {
                return Ok(Err(passing(Error::new(ErrorKind::Network, "the client is shutting down"))));
            };
            time::timeout(POLL_LIMIT, get(client, task)).await
        };
        match time::timeout(limit, in_turn).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => {
                Err(passing(Error::new(ErrorKind::Network, "a poll took too long").with_task(task)))
            }
        }
    });
    polling.instrument(span).await
}

async fn get(client: &Client, task: &TaskRef) -> Result<Update, PollError> {
    let url = task.polling_url().parse().map_err(|error| {
        PollError::Lasting(
            Error::new(ErrorKind::Settings, "the polling address is no URL")
                .advice("the task goes on; take it up by its id, with Client::task_by_id")
                .with_task(task)
                .ended(WaitEnd::Refused { status: None })
                .caused_by(error),
        )
    })?;
    if !client.0.key_origins.may_receive_key(&url) {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let error = Error::new(ErrorKind::KeyWithheld, format!("the polling address is at {}://{host}, where the key must not go", url.scheme()))
            .advice(format!("the task goes on; if {host} belongs to the service, allow it with ClientBuilder::allow_polling_host and take the task up again"))
            .with_task(task)
            .ended(WaitEnd::Refused { status: None });
        return Err(PollError::Lasting(error));
    }
    // Taken before the service signs a delivery address: counted from here it expires too early rather than too late.
    let asked_at = client.0.clock.now();
    let broken = |error: reqwest::Error| {
        passing(
            Error::new(ErrorKind::Network, "a poll did not get through")
                .with_task(task)
                .caused_by(error.without_url()),
        )
    };
    let response =
        client.0.http.get(url).header(KEY_HEADER, client.0.key.header()).send().await.map_err(broken)?;
    let reply = Reply::read(response, || ()).await.map_err(|unread| match unread {
        Unread::Broken(error) => broken(error),
        Unread::TooLong => {
            passing(Error::new(ErrorKind::Reply, "the answer to a poll is too long").with_task(task))
        }
    })?;
    let update = understand(client, task, &reply, asked_at);
    tracing::Span::current()
        .record("status", update.as_ref().map_or("failed", |update| update.status.as_str()));
    tracing::debug!(http_status = reply.status.as_u16(), "polled");
    update
}

fn understand(
    client: &Client,
    task: &TaskRef,
    reply: &Reply,
    asked_at: SystemTime,
) -> Result<Update, PollError> {
    let status = reply.status;
    // `Task not found` may come with status 404: where the body tells a status, the body counts.
    if (status.is_success() || status == StatusCode::NOT_FOUND)
        && let Some(update) = read_update(client, task, reply, asked_at)
    {
        return Ok(update);
    }
    let secrets = [client.0.key.text()];
    let complaint = reply.complaint(&secrets);
    let said = complaint.message.map(|message| format!(": {message}")).unwrap_or_default();
    let retry_after = reply.retry_after(client.0.clock.now());
    let answer = |kind, message: String| {
        Error::new(kind, message)
            .with_status(status.as_u16())
            .with_request_id(reply.request_id(&secrets))
            .with_retry_after(retry_after)
            .with_violations(complaint.violations.clone())
            .with_task(task)
    };
    let refused =
        |error: Error| PollError::Lasting(error.ended(WaitEnd::Refused { status: Some(status.as_u16()) }));
    let take_up = "the task goes on; take it up again";
    match status {
        status if status.is_success() => Err(passing(answer(ErrorKind::Reply, "the answer to a poll tells no status".to_owned()))),
        StatusCode::TOO_MANY_REQUESTS => {
            Err(passing(answer(ErrorKind::RateLimited, format!("the service takes no more polls now (429){said}"))))
        }
        StatusCode::REQUEST_TIMEOUT => Err(passing(answer(ErrorKind::Service, format!("the service gave up on a poll (408){said}")))),
        status if status.is_server_error() => {
            Err(passing(answer(ErrorKind::Service, format!("the service failed a poll ({status}){said}"))))
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(refused(
            answer(ErrorKind::Auth, format!("the service refused the key at a poll ({}){said}", status.as_u16()))
                .advice(format!("check the key; {take_up}")),
        )),
        status if status.is_redirection() => Err(refused(
            answer(ErrorKind::Service, format!("a poll was answered with a redirect ({status}), which is not followed, because the key would go along"))
                .advice(take_up),
        )),
        status => Err(refused(answer(ErrorKind::Service, format!("the service refused a poll ({status}){said}")).advice(take_up))),
    }
}

fn read_update(client: &Client, task: &TaskRef, reply: &Reply, asked_at: SystemTime) -> Option<Update> {
    // A result of another shape must not make the status unreadable: the status alone decides how it goes on.
    let result: PollResult = reply.json().ok().or_else(|| {
        let status = reply.json::<Value>().ok()?.get("status")?.as_str()?.to_owned();
        serde_json::from_value(serde_json::json!({ "status": status })).ok()
    })?;
    let status = result.status?;
    let address = result.result.and_then(|result| result.sample);
    let picture = match status {
        TaskStatus::Ready => {
            address.map(|address| Picture::new(client.clone(), task.clone(), address, asked_at))
        }
        _ => None,
    };
    // `Ready` without an address is no success: polled again, it may come.
    (status != TaskStatus::Ready || picture.is_some()).then_some(Update {
        status,
        picture,
        extra: result.extra,
    })
}

fn passing(error: Error) -> PollError {
    PollError::Passing(error.advice("the poll failed, not the task: poll again"))
}
