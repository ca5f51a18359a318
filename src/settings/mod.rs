//! The settings of a client, from the builder or from environment variables.

mod build;
mod check;
mod environment;
mod preview;
mod setters;

use std::{fmt, sync::Arc, time::Duration};

pub use self::environment::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE,
    WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE,
};
pub use self::preview::Preview;
use crate::{
    Address, Error, ErrorKind, RetryPolicy, Secret,
    picture::DownloadSettings,
    task::TaskSettings,
    transport::{
        connections::Customize, hosts::printable, middleware::Middleware, recording::Recorder,
        service::WallClock,
    },
};

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
    recorder: Option<Arc<dyn Recorder>>,
    customize: Option<Customize>,
    random_seed: Option<u64>,
    clock: WallClock,
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
