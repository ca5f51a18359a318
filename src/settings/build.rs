//! Builds the shared state of a client from its settings, and previews what a client would send.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value};
use url::Url;

use super::{ClientBuilder, check::parse_hosts, invalid_setting};
use crate::{
    Error, Submit,
    picture::Downloads,
    retry::Random,
    task::Shared,
    transport::{
        connections::{Connections, HAS_TLS, HttpSettings, tls_backend},
        hosts::{DeliveryRules, KeyOrigins},
        middleware::Middlewares,
        redaction::Secrets,
        service::{Service, path_of},
    },
};

/// The default maximum time to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The default maximum time without data.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

impl ClientBuilder {
    /// Returns the state that all clones of a client with these settings share.
    pub(crate) fn shared(self) -> Result<Shared, Error> {
        self.check_limits()?;
        let key = self.key()?;
        let (base_url, regional_url) = self.bases()?;
        let model_prefix = self.prefix()?;
        self.check_webhook()?;
        let polling_hosts = parse_hosts(&self.polling_hosts, "ClientBuilder::allow_polling_host")?;
        let delivery_hosts =
            parse_hosts(&self.delivery_hosts, "ClientBuilder::allow_delivery_host")?;
        let default_headers = self.default_headers()?;
        let bases: Vec<Url> = std::iter::once(&base_url).chain(&regional_url).cloned().collect();
        let connections = self.connections(bases.iter().any(|base| base.scheme() == "https"))?;
        let rules = DeliveryRules::new(&bases, delivery_hosts);
        let secrets = Secrets::new(&key, &default_headers, self.tasks.webhook.secret.as_ref());
        let service = Arc::new(Service {
            key,
            secrets,
            model_prefix,
            base_url,
            regional_url,
            default_headers,
            connections,
            key_origins: KeyOrigins { bases, allowed: polling_hosts, allow_http: self.allow_http },
            silence: self.silence_timeout.unwrap_or(SILENCE_TIMEOUT),
            retry: self.retry,
            random: Random::new(self.random_seed),
            clock: self.clock,
            middlewares: Middlewares(self.middlewares.into()),
            recorder: self.recorder,
        });
        let journal = self.tasks.journal.clone();
        let downloads = Downloads::new(Arc::clone(&service), journal, self.downloads, rules);
        Ok(Shared::new(service, self.tasks, downloads))
    }

    fn connections(&self, base_is_https: bool) -> Result<Connections, Error> {
        if base_is_https && !HAS_TLS && self.customize.is_none() {
            return Err(invalid_setting(
                "the base URL uses https, but this program was built without TLS",
            )
            .with_advice("enable the feature `rustls` or `native-tls` of the crate imagekiln"));
        }
        let tls = tls_backend(base_is_https).map_err(|message| {
            let advice = "check the system's certificates (on many systems, the package \
                          ca-certificates)";
            unusable_http().with_advice(advice).with_source(message)
        })?;
        let http = HttpSettings {
            tls,
            connect_timeout: self.connect_timeout.unwrap_or(CONNECT_TIMEOUT),
            user_agent: self.user_agent()?,
            proxy: self.proxy_settings()?,
            customize: self.customize.clone(),
        };
        let silence = self.silence_timeout.unwrap_or(SILENCE_TIMEOUT);
        // reqwest panics if there is no TLS provider. The features of another crate can cause this.
        let made = catch_unwind(AssertUnwindSafe(|| Connections::new(silence, http)));
        let connections = made.map_err(|_| {
            unusable_http().with_advice(
                "enable the feature `rustls` or `native-tls` of the crate imagekiln, or install a \
                 provider for rustls",
            )
        })?;
        connections.map_err(|error| unusable_http().with_source(error))
    }
}

fn unusable_http() -> Error {
    invalid_setting("could not create the HTTP client")
}

/// A submission that is not sent; see [`ClientBuilder::preview`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct Preview {
    /// The path of the request below the base URL, for example `/v1/gen-2-pro`.
    pub path: String,
    /// The body as [`Request::outline`](crate::Request::outline) returns it: with descriptions of
    /// the images, and without secrets.
    pub body: Map<String, Value>,
}

impl ClientBuilder {
    /// Returns what a client with these settings would send for a request. Sends nothing, and needs
    /// neither the API key nor the base URL.
    ///
    /// This method may block, because it reads image files. See
    /// [`Request::reads_files`](crate::Request::reads_files).
    ///
    /// ```
    /// use imagekiln::{Client, types::Gen2Pro};
    /// # fn main() -> Result<(), imagekiln::Error> {
    /// let builder = Client::builder().model_prefix("xyz").webhook_url("https://example.com/hook");
    /// let preview = builder.preview(Gen2Pro::new("a red fox"))?;
    /// assert_eq!(preview.path, "/v1/xyz-2-pro");
    /// assert_eq!(preview.body["webhook_url"], "https://example.com/hook");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](crate::ErrorKind::Validation): the request does not match the contract.
    /// Kind [`Settings`](crate::ErrorKind::Settings): the model prefix or the webhook URL is
    /// invalid.
    #[doc(hidden)]
    pub fn preview(&self, request: impl Submit) -> Result<Preview, Error> {
        let prefix = self.prefix()?;
        self.check_webhook()?;
        let mut request = request.into_request();
        self.tasks.webhook.fill(&mut request);
        request.check(self.tasks.validation)?;
        Ok(Preview { path: path_of("", &request, &prefix), body: request.outline() })
    }
}
