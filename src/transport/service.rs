//! Everything that a client needs to reach the service: base URLs, key, headers and connections.
//! Adds the path and the headers to the submissions of the generated client.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, SystemTime},
};

use progenitor_client::{ClientHooks, ClientInfo, OperationInfo};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use url::Url;

use super::{
    connections::Connections,
    hosts::KeyOrigins,
    middleware::{Exchange, Middlewares, Observation, Purpose},
    recording::{Recorder, Recording},
    redaction::Secrets,
};
use crate::{
    Address, Error, ErrorKind, Operation, REGIONAL_BASE_URL_VARIABLE, Region, Request, RetryPolicy,
    generated::{Client, KEY_HEADER, POLLING_PATH},
    retry::Random,
    values::WallClock,
};

pub(crate) struct Service {
    pub(crate) key: HeaderValue,
    pub(crate) secrets: Secrets,
    /// The prefix of model names at the service. Replaces the neutral prefix of the contract.
    pub(crate) model_prefix: String,
    pub(crate) base_url: Url,
    pub(crate) regional_url: Option<Url>,
    /// Sent with every submission and poll.
    pub(crate) default_headers: HeaderMap,
    /// The HTTP clients, which do not follow redirects, because a redirect would forward the key.
    pub(crate) connections: Connections,
    pub(crate) key_origins: KeyOrigins,
    /// The maximum time without data from the service.
    pub(crate) silence: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) random: Random,
    pub(crate) clock: WallClock,
    pub(crate) middlewares: Middlewares,
    pub(crate) recorder: Option<Recorder>,
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
        self.base(operation.region).map_err(|_| {
            let message = format!("{operation} needs the regional base URL, which is not set");
            no_regional_base(message).with_operation(operation.name)
        })
    }

    /// Makes a recording of an exchange for the recorder, if there is one.
    pub(crate) fn record(&self, recording: impl FnOnce(SystemTime) -> Recording) {
        let Some(recorder) = &self.recorder else { return };
        let record = || recorder(recording(self.clock.now()));
        // A recorder that panics must not end a submission, which may be billed.
        if catch_unwind(AssertUnwindSafe(record)).is_err() {
            tracing::warn!("the recorder panicked");
        }
    }

    /// Begins an exchange: starts its span, and adds the headers of the middlewares. Also adds the
    /// default headers and the key, except to a download, whose URL may be on any host.
    pub(crate) fn begin<'a>(
        &'a self,
        exchange: Exchange<'a>,
        url: &Url,
        resends: u32,
        headers: &mut HeaderMap,
    ) -> Observation<'a> {
        let is_to_service = exchange.purpose != Purpose::Download;
        if is_to_service {
            headers.extend(self.default_headers.clone());
        }
        let observation = self.middlewares.begin(exchange, url, resends, headers);
        // Set the key last, so that neither a default header nor a middleware can replace it.
        if is_to_service {
            headers.insert(KEY_HEADER, self.key.clone());
        }
        observation
    }
}

fn no_regional_base(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, message)
        .with_setting(REGIONAL_BASE_URL_VARIABLE)
        .with_advice("set it")
        .with_function("ClientBuilder::regional_base_url")
}

/// The context of one attempt of a submission, which the generated client passes to its hook.
#[derive(Clone)]
pub(crate) struct Hooks {
    pub(crate) service: Arc<Service>,
    pub(crate) operation: &'static str,
    /// The path of the submission. The generated client has only one operation, without the path.
    pub(crate) path: String,
    /// The number of attempts before this one.
    pub(crate) resends: u32,
}

// The generated client derives `Debug`, so its inner type must implement it.
impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("operation", &self.operation).finish_non_exhaustive()
    }
}

impl ClientHooks<Hooks> for Client {
    async fn exec(
        &self,
        mut request: reqwest::Request,
        _: &OperationInfo,
    ) -> reqwest::Result<reqwest::Response> {
        let Hooks { service, operation, path, resends } = self.inner();
        request.url_mut().set_path(path);
        let url = request.url().clone();
        let exchange = Exchange {
            purpose: Purpose::Submission,
            url: &url.clone().into(),
            operation: Some(operation),
            task_id: None,
        };
        let headers = request.headers_mut();
        let observation = service.begin(exchange, &url, *resends, headers);
        // The generated client sets the content type of opaque bytes, because the SDK declares the
        // body as bytes to be able to stream it.
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let response = observation.send(self.client().execute(request)).await?;
        service.connections.responded(&url, response.version());
        Ok(response)
    }
}

/// Builds the polling URL of a task from its id, for a task whose polling URL is not known.
pub(crate) fn result_url(base: &Url, id: &str) -> Address {
    let mut url = base.clone();
    url.set_path(&format!("{}{POLLING_PATH}", base.path().trim_end_matches('/')));
    url.query_pairs_mut().clear().append_pair("id", id);
    url.into()
}

/// The prefix of model names in the contract. The configured prefix replaces it in paths.
pub(crate) const NEUTRAL_PREFIX: &str = "gen";

/// Returns the path of a submission as the client sends it. `base` is the path of the base URL.
pub(crate) fn path_of(base: &str, request: &Request, prefix: &str) -> String {
    let operation = request.operation();
    let path =
        operation.path_parameters.iter().fold(operation.path.to_owned(), |path, parameter| {
            path.replace(&format!("{{{}}}", parameter.name), request.path_value(parameter.name))
        });
    format!("{}{}", base.trim_end_matches('/'), with_prefix(path, prefix))
}

/// Replaces the neutral prefix of the model name: `/v1/gen-2-pro` with the prefix `xyz` becomes
/// `/v1/xyz-2-pro`.
fn with_prefix(path: String, prefix: &str) -> String {
    let model = path.strip_prefix("/v1/").and_then(|model| model.strip_prefix(NEUTRAL_PREFIX));
    match model.filter(|rest| rest.starts_with('-')) {
        Some(rest) => format!("/v1/{prefix}{rest}"),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::with_prefix;

    #[test]
    fn only_the_model_name_prefix_is_replaced() {
        for (path, expected) in [
            ("/v1/gen-2-pro", "/v1/xyz-2-pro"),
            ("/v1/gen-tools/deblur-v1", "/v1/xyz-tools/deblur-v1"),
            ("/v1/finetune/gen-1", "/v1/finetune/gen-1"),
            ("/v1/general", "/v1/general"),
            ("/v1/gen-2-klein-9b-kv-finetuned", "/v1/xyz-2-klein-9b-kv-finetuned"),
        ] {
            assert_eq!(with_prefix(path.to_owned(), "xyz"), expected);
            assert_eq!(with_prefix(path.to_owned(), "gen"), path);
        }
    }
}
