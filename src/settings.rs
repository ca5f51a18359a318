//! The settings of a client: from the builder, or from the environment where the caller asks for that.

use std::{env, fmt, sync::Arc, time::Duration};

use reqwest::redirect;
use tokio::sync::Semaphore;
use url::Url;

use crate::{
    Client, Error, ErrorKind,
    client::Inner,
    generated,
    transport::{
        clock::Clock,
        hooks::{Hooks, NEUTRAL_PREFIX},
        key::ApiKey,
        origin::{KeyOrigins, is_loopback},
        retry::{Random, RetryBudget},
        tls::Tls,
    },
};

/// The environment variable with the API key.
pub const API_KEY_VARIABLE: &str = "IMAGEKILN_API_KEY";
/// The environment variable with the service's address.
pub const BASE_URL_VARIABLE: &str = "IMAGEKILN_BASE_URL";
/// The environment variable with the service's regional address.
pub const REGIONAL_BASE_URL_VARIABLE: &str = "IMAGEKILN_REGIONAL_BASE_URL";
/// The environment variable with the head of the model names.
pub const MODEL_PREFIX_VARIABLE: &str = "IMAGEKILN_MODEL_PREFIX";

/// Flow-control windows of HTTP/2: with the default of 64 KiB a large transfer waits for the other side at every step.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// The settings of a [`Client`].
///
/// A key and a base address are required; the rest has defaults.
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    api_key: Option<String>,
    base_url: Option<String>,
    regional_base_url: Option<String>,
    model_prefix: Option<String>,
    polling_hosts: Vec<String>,
    validation: bool,
    connect_timeout: Duration,
    silence_timeout: Duration,
    max_concurrent_polls: usize,
    max_active_tasks: Option<usize>,
    random_seed: Option<u64>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            api_key: None,
            base_url: None,
            regional_base_url: None,
            model_prefix: None,
            polling_hosts: Vec::new(),
            validation: true,
            connect_timeout: Duration::from_secs(10),
            silence_timeout: Duration::from_secs(60),
            max_concurrent_polls: 64,
            max_active_tasks: None,
            random_seed: None,
        }
    }
}

impl ClientBuilder {
    /// A builder with the settings of the environment: `IMAGEKILN_API_KEY`, `IMAGEKILN_BASE_URL`,
    /// `IMAGEKILN_REGIONAL_BASE_URL` and `IMAGEKILN_MODEL_PREFIX`. An empty variable counts as not set; what is missing
    /// can still be set on the builder.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](ErrorKind::Settings) where a variable is not valid Unicode.
    pub fn from_env() -> Result<Self, Error> {
        Ok(Self {
            api_key: variable(API_KEY_VARIABLE)?,
            base_url: variable(BASE_URL_VARIABLE)?,
            regional_base_url: variable(REGIONAL_BASE_URL_VARIABLE)?,
            model_prefix: variable(MODEL_PREFIX_VARIABLE)?,
            ..Self::default()
        })
    }

    /// The API key, sent as `x-key` (Authentication of the contract). Required.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// The service's address, http or https, `{base_url}` of the contract. Required.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The service's regional address, `{regional_base_url}` of the contract. Operations that are served from there need
    /// it, and no others.
    pub fn regional_base_url(mut self, url: impl Into<String>) -> Self {
        self.regional_base_url = Some(url.into());
        self
    }

    /// The head of the model names; `gen` by default. A service that says `xyz-2-pro` for `gen-2-pro` is reached with
    /// `xyz`.
    pub fn model_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.model_prefix = Some(prefix.into());
        self
    }

    /// Allows the key to be sent to a polling host besides the configured bases and, over https, the hosts of their
    /// registrable domain: `polls.example.net`, or with a port `127.0.0.1:9000`. Over https, or within this machine.
    pub fn allow_polling_host(mut self, host: impl Into<String>) -> Self {
        self.polling_hosts.push(host.into());
        self
    }

    /// Whether requests are checked against the contract before they are sent; on by default. Turn it off on the day
    /// that the service is looser than the document: the service's own checks still hold.
    pub fn validation(mut self, on: bool) -> Self {
        self.validation = on;
        self
    }

    /// How long a connection may take to be established; 10 seconds by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long the service may be silent, in the middle of an upload, an answer or a download; 60 seconds by default.
    /// There is no limit on the whole, which would cut a large upload.
    pub fn silence_timeout(mut self, timeout: Duration) -> Self {
        self.silence_timeout = timeout;
        self
    }

    /// How many polls may be under way at once, over all tasks of the client; 64 by default, at least 1. More tasks than
    /// that can wait: their polls take turns.
    pub fn max_concurrent_polls(mut self, polls: usize) -> Self {
        self.max_concurrent_polls = polls;
        self
    }

    /// How many tasks may be active at once; no cap by default, at least 1. A task holds its slot from its submission
    /// until a poll sees its final status or the [`Task`](crate::Task) is dropped; `submit` waits for a free slot.
    pub fn max_active_tasks(mut self, tasks: usize) -> Self {
        self.max_active_tasks = Some(tasks);
        self
    }

    /// Seeds the random spread of delays, so that a test sees the same ones each time. From the system by default.
    pub fn random_seed(mut self, seed: u64) -> Self {
        self.random_seed = Some(seed);
        self
    }

    /// The client with these settings.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](ErrorKind::Settings), naming the setting that is missing or can't be used.
    pub fn build(self) -> Result<Client, Error> {
        let key =
            self.api_key.as_deref().ok_or_else(|| missing("the API key", "api_key", API_KEY_VARIABLE))?;
        let key = ApiKey::new(key).ok_or_else(|| {
            settings("the API key is empty or holds characters that no header can carry")
                .advice(format!("check {API_KEY_VARIABLE}"))
        })?;
        let base_url = self
            .base_url
            .as_deref()
            .ok_or_else(|| missing("the service's address", "base_url", BASE_URL_VARIABLE))?;
        let base_url = parse_base(base_url, BASE_URL_VARIABLE)?;
        let regional_url = self
            .regional_base_url
            .as_deref()
            .map(|url| parse_base(url, REGIONAL_BASE_URL_VARIABLE))
            .transpose()?;
        let prefix = self.model_prefix.unwrap_or_else(|| NEUTRAL_PREFIX.to_owned());
        if prefix.is_empty() || !prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return Err(settings(
                "the model prefix holds other characters than letters, digits, `-` and `_`",
            )
            .advice(format!("check {MODEL_PREFIX_VARIABLE}")));
        }
        if self.max_concurrent_polls == 0 || self.max_active_tasks == Some(0) {
            return Err(settings("a limit of 0 polls or 0 tasks would let nothing happen")
                .advice("set it to 1 or more"));
        }
        if self.connect_timeout.is_zero() || self.silence_timeout.is_zero() {
            return Err(settings("a time-out of 0 would give up every request, paid ones too")
                .advice("set it to some seconds"));
        }

        let bases: Vec<Url> = std::iter::once(&base_url).chain(&regional_url).cloned().collect();
        let tls = Tls::new(bases.iter().any(|base| base.scheme() == "https")).map_err(|message| {
            unusable_http()
                .advice("check the system's certificates (on many systems the package ca-certificates)")
                .caused_by(message)
        })?;
        // A simulator: no proxy of the environment knows the way to this machine's loopback.
        let proxies = !bases.iter().all(is_loopback);
        let http_client = |redirects| http_client(&tls, self.connect_timeout, proxies, redirects);
        let http = http_client(redirect::Policy::none())?;
        let delivery = http_client(redirect::Policy::limited(5))?;
        let hooks = Hooks { key: key.clone(), prefix };
        let client_at = |url: &Url| {
            generated::Client::new_with_client(
                url.as_str().trim_end_matches('/'),
                http.clone(),
                hooks.clone(),
            )
        };
        Ok(Client(Arc::new(Inner {
            key,
            base: client_at(&base_url),
            regional: regional_url.map(|url| (url.clone(), client_at(&url))),
            base_url,
            key_origins: KeyOrigins::new(bases, self.polling_hosts),
            http: http.clone(),
            delivery,
            validation: self.validation,
            silence: self.silence_timeout,
            polls: Semaphore::new(self.max_concurrent_polls.min(Semaphore::MAX_PERMITS)),
            active_tasks: self
                .max_active_tasks
                .map(|tasks| Arc::new(Semaphore::new(tasks.min(Semaphore::MAX_PERMITS)))),
            retry_budget: RetryBudget::new(),
            random: Random::new(self.random_seed),
            clock: Clock::start(),
        })))
    }
}

fn http_client(
    tls: &Tls,
    connect_timeout: Duration,
    proxies: bool,
    redirects: redirect::Policy,
) -> Result<reqwest::Client, Error> {
    let builder = reqwest::Client::builder();
    let builder = if proxies { builder } else { builder.no_proxy() };
    let builder = builder
        .user_agent(concat!("imagekiln/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .redirect(redirects)
        // It would hand the signature of a delivery address to whatever host a redirect names.
        .referer(false)
        // Whether a request may be repeated is decided in `submit` and in polling, and nowhere else.
        .retry(reqwest::retry::never())
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .pool_max_idle_per_host(64);
    tls.configure(builder).build().map_err(|error| unusable_http().caused_by(error))
}

fn unusable_http() -> Error {
    settings("the HTTP client could not be set up")
}

fn parse_base(text: &str, variable: &str) -> Result<Url, Error> {
    let wrong =
        |what: &str| settings(format!("the service's address {what}")).advice(format!("check {variable}"));
    let url = Url::parse(text.trim()).map_err(|error| wrong("is no URL").caused_by(error))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("is no http or https URL"));
    }
    if url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(wrong("has a query, a fragment or a user; give the scheme, the host and a path only"));
    }
    Ok(url)
}

fn variable(name: &str) -> Result<Option<String>, Error> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(settings(format!("{name} is not valid Unicode"))),
    }
}

fn settings(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, message)
}

fn missing(what: &str, setter: &str, variable: &str) -> Error {
    settings(format!("{what} is not set")).advice(format!("set {variable}, or call ClientBuilder::{setter}"))
}

/// The key prints as `[redacted]`.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("api_key", &self.api_key.as_ref().map(|_| crate::values::REDACTED))
            .field("base_url", &self.base_url.as_deref().map(crate::Address::from))
            .field("regional_base_url", &self.regional_base_url.as_deref().map(crate::Address::from))
            .field("model_prefix", &self.model_prefix)
            .field("polling_hosts", &self.polling_hosts)
            .finish_non_exhaustive()
    }
}
