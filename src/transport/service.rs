//! How a client reaches the service: base URLs, key, headers and connections.

use std::{sync::Arc, time::Duration};

use reqwest::header::HeaderMap;
use tokio::time::Instant;
use url::Url;

use super::{
    clock::WallClock,
    connections::Connections,
    hosts::KeyOrigins,
    key::{ApiKey, KEY_HEADER},
    middleware::{Middlewares, Observation, Purpose, Subject},
    random::Random,
    recording::Recorder,
    response::Limits,
    retry::RetryPolicy,
};
use crate::Region;

pub(crate) struct Service {
    pub(crate) key: ApiKey,
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
    /// Returns the base URL of a region, if it is set.
    pub(crate) fn base(&self, region: Region) -> Option<&Url> {
        match region {
            Region::Global => Some(&self.base_url),
            Region::Regional => self.regional_url.as_ref(),
        }
    }

    /// Returns how to read a response that has to end before `until`.
    pub(crate) fn response_limits(&self, until: Instant) -> Limits {
        Limits { silence: self.silence, until, keeps_body: self.recorder.is_some() }
    }

    /// Adds the headers of a request to the service, starts its span, and calls the middlewares.
    pub(crate) fn begin(
        &self,
        purpose: Purpose,
        url: &Url,
        subject: Subject<'_>,
        headers: &mut HeaderMap,
    ) -> Observation {
        if !self.default_headers.is_empty() {
            headers.extend(self.default_headers.clone());
        }
        let observation = self.middlewares.begin(purpose, url, subject, headers);
        // The key is set last, so that nothing can replace it.
        headers.insert(KEY_HEADER, self.key.header());
        observation
    }
}
