//! How a client reaches the service: base URLs, key, headers and connections.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use reqwest::header::{HeaderMap, HeaderValue};
use url::Url;

use super::{
    clock::WallClock,
    connections::Connections,
    hosts::KeyOrigins,
    middleware::Purpose,
    observation::{KEY_HEADER, Middlewares, Observation, Subject},
    path::path_of,
    recording::{Recorded, Recorder, Recording},
    redaction::{Redaction, Secrets},
    response::Response,
};
use crate::{
    Address, Error, ErrorKind, Operation, REGIONAL_BASE_URL_VARIABLE, Region, Request, RetryPolicy,
    TaskRef, retry::backoff::Random,
};

pub(crate) struct Service {
    pub(crate) key: HeaderValue,
    pub(crate) secrets: Secrets,
    /// Replaces the neutral prefix of model names.
    pub(crate) model_prefix: String,
    pub(crate) base_url: Url,
    pub(crate) regional_url: Option<Url>,
    /// Sent with every submission and poll.
    pub(crate) default_headers: HeaderMap,
    /// These do not follow redirects, because a redirect would forward the key.
    pub(crate) connections: Connections,
    pub(crate) key_origins: KeyOrigins,
    /// The maximum time without data from the service.
    pub(crate) silence: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) random: Random,
    pub(crate) clock: WallClock,
    pub(crate) middlewares: Middlewares,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
}

impl Service {
    /// Returns the base URL of a region.
    pub(crate) fn base(&self, region: Region) -> Result<&Url, Error> {
        let url = match region {
            Region::Global => Some(&self.base_url),
            Region::Regional => self.regional_url.as_ref(),
        };
        url.ok_or_else(|| no_regional_base("the regional base URL is not set"))
    }

    /// Returns the base URL that serves an operation.
    pub(crate) fn base_of(&self, operation: &'static Operation) -> Result<&Url, Error> {
        self.base(operation.region()).map_err(|_| {
            let message = format!("{operation} needs the regional base URL, which is not set");
            no_regional_base(message).with_operation(operation.name)
        })
    }

    /// Records a submission, if there is a recorder.
    pub(crate) fn record_submission(&self, base: &Url, request: &Request, response: &Response) {
        self.record(response, || Recorded {
            purpose: Purpose::Submission,
            operation: Some(request.operation().name),
            path: path_of(base.path(), request, &self.model_prefix),
            request: Some(request),
            redaction: Redaction::of_request(&self.secrets, request),
        });
    }

    /// Records a poll, if there is a recorder.
    pub(crate) fn record_poll(&self, url: &Url, task: &TaskRef, response: &Response) {
        self.record(response, || Recorded {
            purpose: Purpose::Poll,
            operation: task.operation(),
            path: url.path().to_owned(),
            request: None,
            redaction: Redaction::of_poll(&self.secrets, task, url),
        });
    }

    fn record<'a>(&self, response: &Response, recorded: impl FnOnce() -> Recorded<'a>) {
        let Some(recorder) = &self.recorder else { return };
        let record = || recorder.record(Recording::new(recorded(), self.clock.now(), response));
        // A recorder that panics must not end a submission, which may be billed.
        if catch_unwind(AssertUnwindSafe(record)).is_err() {
            tracing::warn!("the recorder panicked");
        }
    }

    /// Adds the headers of a request to the service, starts its span, and calls the middlewares.
    pub(crate) fn begin(
        &self,
        purpose: Purpose,
        url: &Url,
        subject: Subject<'_>,
        headers: &mut HeaderMap,
    ) -> Observation {
        headers.extend(self.default_headers.clone());
        let observation = self.middlewares.begin(purpose, url, subject, headers);
        // The key is set last, so that nothing can replace it.
        headers.insert(KEY_HEADER, self.key.clone());
        observation
    }
}

fn no_regional_base(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, message)
        .with_setting(REGIONAL_BASE_URL_VARIABLE)
        .with_advice("set it")
        .with_function("ClientBuilder::regional_base_url")
}

/// Builds the polling URL of a task whose submission response had none (operation `get_result` of
/// the contract).
pub(crate) fn result_url(base: &Url, id: &str) -> Address {
    let mut url = base.clone();
    url.set_path(&format!("{}/v1/get_result", base.path().trim_end_matches('/')));
    url.query_pairs_mut().clear().append_pair("id", id);
    url.into()
}
