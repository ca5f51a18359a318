//! What settings must be, and what is said if they are not.

use std::time::Duration;

use reqwest::{
    Proxy,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use url::Url;

use super::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, ClientBuilder, MODEL_PREFIX_VARIABLE,
    REGIONAL_BASE_URL_VARIABLE, WEBHOOK_URL_VARIABLE, wrong,
};
use crate::{
    Error,
    transport::{
        hooks::NEUTRAL_PREFIX,
        hosts::{AllowedHost, is_loopback, printable},
        key::ApiKey,
        middleware::RESERVED_HEADERS,
    },
    values::web_url,
};

/// The bound of `webhook_url` (Limits of the contract), in characters.
const LONGEST_WEBHOOK_URL: usize = 2083;

/// Longer durations mean the same, and could not be added to an instant.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

impl ClientBuilder {
    pub(super) fn check_limits(&self) -> Result<(), Error> {
        if self.tasks.max_concurrent_polls == 0 || self.tasks.max_active_tasks == Some(0) {
            return Err(wrong("a limit of 0 polls or 0 tasks would let nothing happen")
                .with_advice("set it to 1 or more"));
        }
        let timeouts = [
            self.transport.connect_timeout,
            self.transport.silence_timeout,
            self.tasks.submit_deadline.unwrap_or(Duration::MAX),
            self.tasks.poll_deadline,
            self.deliveries.deadline,
        ];
        if timeouts.iter().any(Duration::is_zero) {
            return Err(wrong("a timeout of 0 would make every request fail, paid ones included")
                .with_advice("set it to some seconds"));
        }
        Ok(())
    }

    pub(super) fn key(&self) -> Result<ApiKey, Error> {
        let key = self
            .api_key
            .as_deref()
            .ok_or_else(|| missing("the API key", "api_key", API_KEY_VARIABLE))?;
        ApiKey::new(key).ok_or_else(|| {
            wrong("the API key is empty or has characters that a header can't carry")
                .with_advice(format!("check {API_KEY_VARIABLE}"))
        })
    }

    /// The base address, and the regional one if it is set.
    pub(super) fn bases(&self) -> Result<(Url, Option<Url>), Error> {
        let base = self
            .base_url
            .as_deref()
            .ok_or_else(|| missing("the service's address", "base_url", BASE_URL_VARIABLE))?;
        let base = parse_base(base, BASE_URL_VARIABLE, self.allow_http)?;
        let parse = |url| parse_base(url, REGIONAL_BASE_URL_VARIABLE, self.allow_http);
        Ok((base, self.regional_base_url.as_deref().map(parse).transpose()?))
    }

    pub(super) fn prefix(&self) -> Result<String, Error> {
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

    pub(super) fn check_webhook(&self) -> Result<(), Error> {
        let Some(address) = &self.tasks.webhook.url else { return Ok(()) };
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

    /// The headers of every submission and every poll.
    pub(super) fn default_headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.transport.default_headers {
            let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
            let reserved = |name: &HeaderName| RESERVED_HEADERS.contains(&name.as_str());
            let Some(name) = parsed.filter(|name| !reserved(name)) else {
                let name = printable(name);
                return Err(wrong(format!("default_header can't set the header `{name}`"))
                    .with_advice("the SDK or HTTP sets it, or it is not the name of a header"));
            };
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                wrong(format!(
                    "the value for the header `{name}` has characters that a header can't carry"
                ))
            })?;
            // Keeps it out of logs, and out of HTTP/2's compression table.
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(headers)
    }

    pub(super) fn user_agent(&self) -> Result<String, Error> {
        let own = concat!("imagekiln/", env!("CARGO_PKG_VERSION"));
        let Some(suffix) = &self.transport.user_agent_suffix else { return Ok(own.to_owned()) };
        let user_agent = format!("{own} {suffix}");
        match HeaderValue::from_str(&user_agent) {
            Ok(_) => Ok(user_agent),
            Err(_) => {
                Err(wrong("the suffix of the user agent has characters that a header can't carry"))
            }
        }
    }

    /// The proxy, and its URL.
    pub(super) fn proxy_settings(&self) -> Result<Option<(Proxy, Url)>, Error> {
        let Some(address) = &self.transport.proxy else { return Ok(None) };
        let unusable = |problem: &str| wrong(format!("the URL of the proxy {problem}"));
        web_url::check(address.reveal()).map_err(unusable)?;
        let url = address.parse().map_err(|_| unusable("must be a URL"))?;
        let proxy = Proxy::all(url.clone())
            .map_err(|error| unusable("can't be used").with_source(error.without_url()))?;
        Ok(Some((proxy, url)))
    }
}

/// A duration that can be added to an instant.
pub(super) fn bounded(duration: Duration) -> Duration {
    duration.min(LONGEST)
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

pub(super) fn parse_hosts(texts: &[String], setter: &str) -> Result<Vec<AllowedHost>, Error> {
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
