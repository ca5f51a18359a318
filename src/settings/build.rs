//! From settings to a client.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use url::Url;

use super::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, ClientBuilder, MODEL_PREFIX_VARIABLE,
    REGIONAL_BASE_URL_VARIABLE, WEBHOOK_URL_VARIABLE, wrong,
};
use crate::{
    Client, Error,
    client::Inner,
    picture::Swept,
    task::{Slots, Waits},
    transport::{
        connections::Connections,
        hooks::{Hooks, NEUTRAL_PREFIX},
        hosts::{AllowedHost, DeliveryRules, KeyOrigins, is_loopback, printable},
        http::HttpSettings,
        key::ApiKey,
        retry::{Random, RetryBudget},
        routes::Routes,
        tls::{self, Tls},
    },
};

/// The bound of `webhook_url` (Limits of the contract), in characters.
const LONGEST_WEBHOOK_URL: usize = 2083;

/// Longer time-outs are the same, and could not be added to an instant.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

impl ClientBuilder {
    /// The client with these settings.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings), naming the setting that is missing or can't
    /// be used.
    pub fn build(self) -> Result<Client, Error> {
        self.check_limits()?;
        let key = self.key()?;
        let (base_url, regional_url) = self.bases()?;
        let prefix = self.prefix()?;
        self.check_webhook()?;
        let polling_hosts = parse_hosts(&self.polling_hosts, "allow_polling_host")?;
        let delivery_hosts = parse_hosts(&self.delivery_hosts, "allow_delivery_host")?;
        let bases: Vec<Url> = std::iter::once(&base_url).chain(&regional_url).cloned().collect();
        let connections = self.connections(bases.iter().any(|base| base.scheme() == "https"))?;
        Ok(Client(Arc::new(Inner {
            hooks: Hooks { key: key.clone(), prefix },
            key,
            base_url,
            regional_url,
            connections,
            delivery: DeliveryRules::new(&bases, delivery_hosts),
            key_origins: KeyOrigins::new(bases, polling_hosts, self.allow_http),
            validation: self.validation,
            silence: self.silence_timeout.min(LONGEST_TIMEOUT),
            max_picture_bytes: self.max_picture_bytes,
            swept: Swept::default(),
            polls: Semaphore::new(self.max_concurrent_polls.min(Semaphore::MAX_PERMITS)),
            slots: self.max_active_tasks.map(Slots::new),
            submission_retries: RetryBudget::new(),
            poll_retries: RetryBudget::new(),
            download_retries: RetryBudget::new(),
            random: Random::new(self.random_seed),
            clock: self.clock,
            webhook: self.webhook,
            waits: Waits::default(),
            submissions: Arc::default(),
            journal: self.journal,
        })))
    }

    fn check_limits(&self) -> Result<(), Error> {
        if self.max_concurrent_polls == 0 || self.max_active_tasks == Some(0) {
            return Err(wrong("a limit of 0 polls or 0 tasks would let nothing happen")
                .with_advice("set it to 1 or more"));
        }
        if self.connect_timeout.is_zero() || self.silence_timeout.is_zero() {
            return Err(wrong("a time-out of 0 would give up every request, paid ones too")
                .with_advice("set it to some seconds"));
        }
        Ok(())
    }

    fn key(&self) -> Result<ApiKey, Error> {
        let key = self
            .api_key
            .as_deref()
            .ok_or_else(|| missing("the API key", "api_key", API_KEY_VARIABLE))?;
        ApiKey::new(key).ok_or_else(|| {
            wrong("the API key is empty or holds characters that no header can carry")
                .with_advice(format!("check {API_KEY_VARIABLE}"))
        })
    }

    /// The base address, and the regional one if it is set.
    fn bases(&self) -> Result<(Url, Option<Url>), Error> {
        let base = self
            .base_url
            .as_deref()
            .ok_or_else(|| missing("the service's address", "base_url", BASE_URL_VARIABLE))?;
        let base = parse_base(base, BASE_URL_VARIABLE, self.allow_http)?;
        let parse = |url| parse_base(url, REGIONAL_BASE_URL_VARIABLE, self.allow_http);
        Ok((base, self.regional_base_url.as_deref().map(parse).transpose()?))
    }

    fn prefix(&self) -> Result<String, Error> {
        let prefix = self.model_prefix.as_deref().unwrap_or(NEUTRAL_PREFIX);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match !prefix.is_empty() && prefix.chars().all(is_plain) {
            true => Ok(prefix.to_owned()),
            false => Err(wrong(
                "the model prefix holds other characters than letters, digits, `-` and `_`",
            )
            .with_advice(format!("check {MODEL_PREFIX_VARIABLE}"))),
        }
    }

    fn check_webhook(&self) -> Result<(), Error> {
        let Some(address) = &self.webhook.url else { return Ok(()) };
        let is_usable = address
            .parse()
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            && address.reveal().chars().count() <= LONGEST_WEBHOOK_URL;
        match is_usable {
            true => Ok(()),
            false => Err(wrong(format!(
                "the webhook address is not an http or https URL of at most {LONGEST_WEBHOOK_URL} characters"
            ))
            .with_advice(format!("check {WEBHOOK_URL_VARIABLE}"))),
        }
    }

    fn connections(&self, base_is_https: bool) -> Result<Connections, Error> {
        if base_is_https && !tls::IS_BUILT_IN && self.customize.is_none() {
            return Err(wrong("the base address is https, and this program was built without TLS")
                .with_advice(
                    "turn on the feature `rustls` or `native-tls` of the crate imagekiln",
                ));
        }
        let tls = Tls::new(base_is_https).map_err(|message| {
            unusable_http()
                .with_advice(
                    "check the system's certificates (on many systems the package ca-certificates)",
                )
                .with_source(message)
        })?;
        let connect_timeout = self.connect_timeout.min(LONGEST_TIMEOUT);
        let http = HttpSettings { tls, connect_timeout, customize: self.customize.clone() };
        let silence = self.silence_timeout.min(LONGEST_TIMEOUT);
        Connections::new(silence, move || Routes::new(|| http.builder()))
            .map_err(|error| unusable_http().with_source(error))
    }
}

fn unusable_http() -> Error {
    wrong("the HTTP client could not be set up")
}

fn parse_base(text: &str, variable: &str, allow_http: bool) -> Result<Url, Error> {
    let unusable = |what: &str| {
        wrong(format!("the service's address {what}")).with_advice(format!("check {variable}"))
    };
    let url =
        Url::parse(text.trim()).map_err(|error| unusable("is not a URL").with_source(error))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(unusable("is not an http or https URL"));
    }
    if url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(unusable(
            "has a query, a fragment or a user; give the scheme, the host and a path only",
        ));
    }
    if url.scheme() == "http" && !allow_http && !is_loopback(&url) {
        let host = url.host_str().unwrap_or_default();
        return Err(wrong(format!(
            "the service's address uses http on another machine ({host}), and the API key would travel unencrypted"
        ))
        .with_advice(format!(
            "use https in {variable}, or set {ALLOW_HTTP_VARIABLE}=1, or call ClientBuilder::allow_http(true)"
        )));
    }
    Ok(url)
}

fn parse_hosts(texts: &[String], setter: &str) -> Result<Vec<AllowedHost>, Error> {
    let parse = |text: &String| {
        AllowedHost::parse(text).map_err(|problem| {
            wrong(format!("{setter} can't use `{}`: {problem}", printable(text))).with_advice(
                "write a host or a host and a port: `host.example.net`, `10.0.0.7:9000`, `[2001:db8::7]`",
            )
        })
    };
    texts.iter().map(parse).collect()
}

fn missing(what: &str, setter: &str, variable: &str) -> Error {
    wrong(format!("{what} is not set"))
        .with_advice(format!("set {variable}, or call ClientBuilder::{setter}"))
}
