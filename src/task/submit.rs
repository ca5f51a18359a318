//! The submission: the one POST, and the rule by which it may be repeated.
//!
//! A POST is repeated only where the service certainly did not take it: the connection was never established, or it
//! answered 429. After anything else it is unknown whether the picture will be made and paid, and that is what the error
//! says; it is never sent a second time.

use std::{sync::Arc, time::Duration};

use progenitor_client::Error as ClientError;
use reqwest::StatusCode;
use serde_json::Value;
use tokio::time;
use tracing::{Instrument, Span, field};

use super::{Charge, Task, TaskRef};
use crate::{
    Address, Client, Error, ErrorKind, Operation, Request, Submit,
    client::result_url,
    generated::{
        self,
        types::{AsyncResponse, AsyncWebhookResponse},
    },
    transport::{
        body::{BodyPlan, Progress},
        reply::{Reply, Unread},
        retry,
    },
};

/// A wait longer than this is the caller's to decide on.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(120);

/// How one attempt went wrong.
enum Attempt {
    /// The service certainly did not take the submission, and it may be repeated after this long.
    NotTaken {
        error: Error,
        wait: Option<Duration>,
    },
    Failed(Error),
}

impl Client {
    /// Submits a request: the POST happens here, and only here. Returns once the service has accepted the task.
    ///
    /// Dropping the future before it is done may leave a submission behind that was accepted and paid, and whose task is
    /// not known. Where that may happen (a time limit, an interruption), run it to its end in a task of its own.
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](ErrorKind::Validation), [`Auth`](ErrorKind::Auth), [`RateLimited`](ErrorKind::RateLimited),
    /// [`File`](ErrorKind::File), [`Settings`](ErrorKind::Settings): nothing was paid. Kind
    /// [`Network`](ErrorKind::Network), [`Service`](ErrorKind::Service), [`Reply`](ErrorKind::Reply): ask
    /// [`Error::may_have_been_billed`].
    pub async fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        let request = request.into_request();
        let operation = request.operation();
        let span = tracing::info_span!(
            "submit",
            operation = operation.name,
            task_id = field::Empty,
            attempt = field::Empty,
            status = field::Empty
        );
        async {
            let outcome = self.submit_request(request).await;
            match &outcome {
                Ok(task) => {
                    Span::current().record("task_id", task.id());
                    tracing::info!("accepted");
                }
                Err(error) => tracing::warn!(kind = ?error.kind(), billing_unknown = error.may_have_been_billed(), "not accepted"),
            }
            outcome
        }
        .instrument(span)
        .await
    }

    async fn submit_request(&self, request: Request) -> Result<Task, Error> {
        let operation = request.operation();
        if !operation.submits {
            return Err(Error::new(ErrorKind::Settings, format!("{operation} is no submission"))
                .advice("poll a task with Client::task or Client::task_by_id")
                .operation(operation.name));
        }
        let (base, client) = self.base_of(operation)?;
        let validation = self.0.validation;
        // Both look at image files, which may block.
        let prepared = tokio::task::spawn_blocking(move || {
            if validation {
                request.validate()?;
            } else {
                request.validate_form()?;
            }
            let plan = BodyPlan::new(&request).map_err(|error| {
                Error::new(ErrorKind::File, format!("an image for {operation} can't be read: {error}"))
                    .advice("nothing was sent")
                    .operation(operation.name)
            })?;
            Ok((request, Arc::new(plan)))
        })
        .await;
        let (request, plan) = prepared.map_err(|error| {
            Error::new(ErrorKind::File, "the request could not be prepared").caused_by(error)
        })??;
        let secrets = self.secrets_of(&request);

        let slot = match &self.0.active_tasks {
            // Closing is never called on it; without a slot the worst is one task more than asked for.
            Some(slots) => Arc::clone(slots).acquire_owned().await.ok(),
            None => None,
        };
        let mut attempt = 1;
        let reply = loop {
            Span::current().record("attempt", attempt);
            let (error, wait) = match self.attempt(client, &request, &plan, &secrets).await {
                Ok(reply) => break reply,
                Err(Attempt::Failed(error)) => return Err(error.operation(operation.name)),
                Err(Attempt::NotTaken { error, wait }) => (error.operation(operation.name), wait),
            };
            // A service that asks for no wait at all still gets one: six attempts at once are a storm.
            let wait = wait
                .filter(|asked| !asked.is_zero())
                .unwrap_or_else(|| retry::delay(attempt, &self.0.random));
            if attempt == retry::MAX_ATTEMPTS || wait > LONGEST_RETRY_AFTER || !self.0.retry_budget.take() {
                return Err(error);
            }
            tracing::debug!(attempt, wait_ms = wait.as_millis() as u64, kind = ?error.kind(), "not taken; trying again");
            time::sleep(wait).await;
            attempt += 1;
        };
        self.0.retry_budget.succeeded();
        let (reference, charge) = accepted(&reply, operation, base, &secrets)?;
        Ok(Task { client: self.clone(), reference, charge, slot: std::sync::Mutex::new(slot) })
    }

    fn base_of(&self, operation: &'static Operation) -> Result<(&url::Url, &generated::Client), Error> {
        if !operation.regional {
            return Ok((&self.0.base_url, &self.0.base));
        }
        match &self.0.regional {
            Some((url, client)) => Ok((url, client)),
            None => Err(Error::new(
                ErrorKind::Settings,
                format!("{operation} is served from a regional address, and none is set"),
            )
            .advice(format!(
                "set {}, or call ClientBuilder::regional_base_url",
                crate::REGIONAL_BASE_URL_VARIABLE
            ))
            .operation(operation.name)),
        }
    }

    /// What must not come out of an answer that echoes the request.
    fn secrets_of(&self, request: &Request) -> Vec<String> {
        let of_request = request
            .text_values()
            .filter(|(name, _)| {
                request.operation().field(name).is_some_and(|field| field.kind == crate::FieldKind::Secret)
            })
            .map(|(_, secret)| secret.to_owned());
        std::iter::once(self.0.key.text().to_owned()).chain(of_request).collect()
    }

    async fn attempt(
        &self,
        client: &generated::Client,
        request: &Request,
        plan: &Arc<BodyPlan>,
        secrets: &[String],
    ) -> Result<Reply, Attempt> {
        let progress = Progress::default();
        let body = plan.body(&progress);
        let exchange = async {
            let path = |name: &str| request.path_value(name);
            // The future of the generated client is large, and a task should not carry it.
            let read = match Box::pin(generated::send(client, request.operation(), path, body)).await {
                Ok(response) => {
                    let (status, headers) = (response.status(), response.headers().clone());
                    progress.moved();
                    Reply::collect(response.into_inner_stream(), status, headers, || progress.moved()).await
                }
                Err(ClientError::UnexpectedResponse(response)) => {
                    Reply::read(response, || progress.moved()).await
                }
                Err(error) => return Err(error),
            };
            read.map_err(|unread| match unread {
                Unread::Broken(error) => ClientError::ResponseBodyError(error),
                Unread::TooLong => ClientError::Custom("it is too long".to_owned()),
            })
        };
        let reply = match with_silence_limit(self.0.silence, &progress, exchange).await {
            None => {
                let message = format!(
                    "the service was silent for {} s while it was sent a submission",
                    self.0.silence.as_secs_f32()
                );
                return Err(Attempt::Failed(unknown(Error::new(ErrorKind::Network, message))));
            }
            Some(Ok(reply)) => reply,
            Some(Err(error)) => return Err(transport_failure(error, &progress)),
        };
        Span::current().record("status", reply.status.as_u16());
        match reply.status {
            status if status.is_success() => Ok(reply),
            _ => Err(self.refusal(&reply, secrets)),
        }
    }

    /// What an answer that is no success means for the submission.
    fn refusal(&self, reply: &Reply, secrets: &[String]) -> Attempt {
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let complaint = reply.complaint(&secrets);
        let status = reply.status;
        let said = complaint.message.map(|message| format!(": {message}")).unwrap_or_default();
        let retry_after = reply.retry_after(self.0.clock.now());
        let answer = |kind, message: String| {
            Error::new(kind, message)
                .with_status(status.as_u16())
                .with_request_id(reply.request_id(&secrets))
                .with_retry_after(retry_after)
        };
        match status {
            StatusCode::TOO_MANY_REQUESTS => Attempt::NotTaken {
                error: answer(ErrorKind::RateLimited, format!("the service takes no more submissions now (429){said}"))
                    .advice("nothing was paid; wait, or cap the active tasks with ClientBuilder::max_active_tasks"),
                wait: retry_after,
            },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Attempt::Failed(
                answer(ErrorKind::Auth, format!("the service refused the key ({}){said}", status.as_u16()))
                    .advice("nothing was paid; check the key, and that its project has access to this endpoint"),
            ),
            StatusCode::UNPROCESSABLE_ENTITY => Attempt::Failed(
                answer(ErrorKind::Validation, format!("the service found the request invalid (422){said}"))
                    .with_violations(complaint.violations)
                    .advice("nothing was paid; mend the request"),
            ),
            StatusCode::REQUEST_TIMEOUT => Attempt::Failed(unknown(answer(ErrorKind::Service, format!("the service gave up on the submission (408){said}")))),
            status if status.is_client_error() => Attempt::Failed(
                answer(ErrorKind::Service, format!("the service refused the submission ({status}){said}"))
                    .advice("nothing was paid; check the base address and the model prefix"),
            ),
            status if status.is_redirection() => Attempt::Failed(
                answer(ErrorKind::Service, format!("the service answered with a redirect ({status}), which is not followed, because the key would go along"))
                    .advice("nothing was paid; set the base address to where the service is"),
            ),
            status => Attempt::Failed(unknown(answer(ErrorKind::Service, format!("the service failed ({status}){said}")))),
        }
    }
}

fn unknown(error: Error) -> Error {
    error.billing_unknown().advice(
        "it is not known whether the task was created and paid, so it was not sent again; check the service's usage before you repeat it",
    )
}

/// Runs the exchange until nothing has moved for `limit`: no chunk of the body taken, none of the answer come. `None` is
/// silence.
async fn with_silence_limit<T>(
    limit: Duration,
    progress: &Progress,
    exchange: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(exchange);
    loop {
        let before = progress.moves();
        match time::timeout(limit, &mut exchange).await {
            Ok(outcome) => return Some(outcome),
            Err(_) if progress.moves() == before => return None,
            Err(_) => {}
        }
    }
}

fn transport_failure(error: ClientError<()>, progress: &Progress) -> Attempt {
    if let Some(fault) = progress.fault() {
        // The body never came to its end, so there was no request that the service could take.
        let error = Error::new(ErrorKind::File, format!("an image can't be read: {fault}"))
            .advice("the submission was cut off, and nothing was paid");
        return Attempt::Failed(error);
    }
    match error {
        ClientError::CommunicationError(error) if error.is_connect() => {
            let host = error.url().map(|url| url.authority().to_owned()).unwrap_or_default();
            let error = Error::new(ErrorKind::Network, format!("no connection to {host}"))
                .advice("nothing was sent; check the base address and the network")
                .caused_by(error.without_url());
            Attempt::NotTaken { error, wait: None }
        }
        ClientError::CommunicationError(error) if error.is_builder() => Attempt::Failed(
            Error::new(ErrorKind::Settings, "the request could not be built")
                .advice("nothing was sent")
                .caused_by(error.without_url()),
        ),
        ClientError::CommunicationError(error) | ClientError::ResponseBodyError(error) => {
            Attempt::Failed(unknown(
                Error::new(ErrorKind::Network, "the connection broke while a submission was sent")
                    .caused_by(error.without_url()),
            ))
        }
        ClientError::InvalidRequest(message) => {
            Attempt::Failed(Error::new(ErrorKind::Settings, message).advice("nothing was sent"))
        }
        other => Attempt::Failed(unknown(Error::new(
            ErrorKind::Reply,
            format!("the service's answer can't be read: {other}"),
        ))),
    }
}

/// Reads the answer to an accepted submission. A submission with a webhook may be answered without a polling address; it
/// is then polled at the base that took it.
fn accepted(
    reply: &Reply,
    operation: &'static Operation,
    base: &url::Url,
    secrets: &[String],
) -> Result<(TaskRef, Charge), Error> {
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let unreadable = |what: &str| {
        unknown(Error::new(
            ErrorKind::Reply,
            format!("the service accepted the submission ({}) with an answer {what}", reply.status.as_u16()),
        ))
        .with_status(reply.status.as_u16())
        .with_request_id(reply.request_id(&secrets))
        .operation(operation.name)
    };
    let (id, polling_url, charge) = if let Ok(answer) = reply.json::<AsyncResponse>() {
        let charge = Charge { cost: answer.cost, input_mp: answer.input_mp, output_mp: answer.output_mp };
        (answer.id, Some(answer.polling_url), charge)
    } else if let Ok(answer) = reply.json::<AsyncWebhookResponse>() {
        let charge = Charge { cost: answer.cost, input_mp: answer.input_mp, output_mp: answer.output_mp };
        (answer.id, None, charge)
    } else {
        // Neither shape fits, but with an id the paid task is not lost.
        let answer: Value = reply.json().map_err(|error| unreadable("that is no JSON").caused_by(error))?;
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        let number = |name: &str| answer.get(name).and_then(Value::as_f64);
        let charge =
            Charge { cost: number("cost"), input_mp: number("input_mp"), output_mp: number("output_mp") };
        let id = match answer.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => String::new(),
        };
        (id, text("polling_url").map(Address::from), charge)
    };
    if id.is_empty() {
        return Err(unreadable("that names no task"));
    }
    // Joined, in case the service names its polling address without a host.
    let polling_url = polling_url
        .filter(|url| !url.reveal().is_empty())
        .and_then(|url| base.join(url.reveal()).ok())
        .map_or_else(|| result_url(base, &id), Address::from);
    Ok((TaskRef::new(id, polling_url, Some(operation.name.to_owned())), charge))
}
