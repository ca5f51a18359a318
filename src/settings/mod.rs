//! The settings of a client, from the builder or from environment variables.

mod build;
mod check;
mod setters;

use std::{env, fmt, sync::Arc, time::Duration};

pub use self::build::Preview;
use crate::{
    Address, Error, ErrorKind, REGIONAL_BASE_URL_VARIABLE, RetryPolicy, Secret,
    contract::WebhookDefaults,
    picture::DownloadSettings,
    task::TaskSettings,
    transport::{
        connections::Customize, hosts::printable, middleware::Middleware, recording::Recorder,
    },
    values::WallClock,
};

/// The environment variable for the API key.
pub const API_KEY_VARIABLE: &str = "IMAGEKILN_API_KEY";
/// The environment variable for the base URL.
pub const BASE_URL_VARIABLE: &str = "IMAGEKILN_BASE_URL";
/// The environment variable for the model name prefix.
pub const MODEL_PREFIX_VARIABLE: &str = "IMAGEKILN_MODEL_PREFIX";
/// The environment variable for the URL to which the service sends webhooks.
pub const WEBHOOK_URL_VARIABLE: &str = "IMAGEKILN_WEBHOOK_URL";
/// The environment variable for the secret that signs webhooks.
pub const WEBHOOK_SECRET_VARIABLE: &str = "IMAGEKILN_WEBHOOK_SECRET";
/// The environment variable that allows an `http://` base URL on another machine: `1` or `true`.
pub const ALLOW_HTTP_VARIABLE: &str = "IMAGEKILN_ALLOW_HTTP";

/// The settings of a [`Client`](crate::Client).
///
/// The API key and the base URL are required. All other settings have defaults.
#[derive(Clone, Default)]
#[must_use]
pub struct ClientBuilder {
    api_key: Option<Secret<String>>,
    base_url: Option<String>,
    regional_base_url: Option<String>,
    model_prefix: Option<String>,
    polling_hosts: Vec<String>,
    delivery_hosts: Vec<String>,
    allow_http: bool,
    tasks: TaskSettings,
    downloads: DownloadSettings,
    connect_timeout: Option<Duration>,
    silence_timeout: Option<Duration>,
    retry: RetryPolicy,
    proxy: Option<Address>,
    user_agent_suffix: Option<String>,
    /// Names and values.
    default_headers: Vec<(String, Secret<String>)>,
    middlewares: Vec<Arc<dyn Middleware>>,
    recorder: Option<Recorder>,
    customize: Option<Customize>,
    random_seed: Option<u64>,
    clock: WallClock,
}

impl ClientBuilder {
    /// Creates a builder with the settings from the environment.
    ///
    /// Reads `IMAGEKILN_API_KEY`, `IMAGEKILN_BASE_URL`, `IMAGEKILN_REGIONAL_BASE_URL`,
    /// `IMAGEKILN_MODEL_PREFIX`, `IMAGEKILN_WEBHOOK_URL`, `IMAGEKILN_WEBHOOK_SECRET` and
    /// `IMAGEKILN_ALLOW_HTTP`. Empty variables count as unset. Missing settings can be set on the
    /// builder.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): a variable is not valid Unicode, or
    /// `IMAGEKILN_ALLOW_HTTP` is not one of `1`, `true`, `0` and `false`.
    pub fn from_env() -> Result<Self, Error> {
        let webhook = WebhookDefaults {
            url: variable(WEBHOOK_URL_VARIABLE)?.map(Address::from),
            secret: variable(WEBHOOK_SECRET_VARIABLE)?.map(Secret::from),
        };
        Ok(Self {
            api_key: variable(API_KEY_VARIABLE)?.map(Secret::from),
            base_url: variable(BASE_URL_VARIABLE)?,
            regional_base_url: variable(REGIONAL_BASE_URL_VARIABLE)?,
            model_prefix: variable(MODEL_PREFIX_VARIABLE)?,
            tasks: TaskSettings { webhook, ..TaskSettings::default() },
            allow_http: flag(ALLOW_HTTP_VARIABLE)?,
            ..Self::default()
        })
    }
}

fn variable(name: &'static str) -> Result<Option<String>, Error> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => {
            Err(invalid_setting(format!("{name} is not valid Unicode")).with_setting(name))
        }
    }
}

fn flag(name: &'static str) -> Result<bool, Error> {
    match variable(name)?.as_deref().map(str::trim) {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(_) => Err(invalid_setting(format!("{name} must be `1`, `true`, `0` or `false`"))
            .with_advice("set it to 1 or unset it")
            .with_setting(name)),
    }
}

/// Returns an error for a setting that is missing or invalid.
fn invalid_setting(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, message)
}

/// Prints secrets as `[redacted]`.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printable =
            |hosts: &[String]| -> Vec<_> { hosts.iter().map(|host| printable(host)).collect() };
        let address = |text: &Option<String>| text.as_deref().map(Address::from);
        let headers = self.default_headers.iter().map(|(name, _)| name);
        f.debug_struct("ClientBuilder")
            .field("api_key", &self.api_key)
            .field("base_url", &address(&self.base_url))
            .field("regional_base_url", &address(&self.regional_base_url))
            .field("model_prefix", &self.model_prefix)
            .field("webhook", &self.tasks.webhook)
            .field("polling_hosts", &printable(&self.polling_hosts))
            .field("delivery_hosts", &printable(&self.delivery_hosts))
            .field("allow_http", &self.allow_http)
            .field("proxy", &self.proxy)
            .field("default_headers", &headers.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
