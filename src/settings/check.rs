//! Validates settings.

use std::time::Duration;

use reqwest::{
    Proxy,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use url::Url;

use super::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, ClientBuilder, MODEL_PREFIX_VARIABLE,
    WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE, invalid_setting,
};
use crate::{
    Error, REGIONAL_BASE_URL_VARIABLE, Secret,
    transport::{
        hosts::{AllowedHost, is_loopback, printable},
        middleware::RESERVED_HEADERS,
        service::NEUTRAL_PREFIX,
    },
    values::address::parse_web_url,
};

/// The advice for a setting that another part of the error names.
const CORRECT_IT: &str = "correct it";

/// The maximum length of `webhook_url` in the contract, in characters.
const LONGEST_WEBHOOK_URL: usize = 2083;

impl ClientBuilder {
    pub(super) fn check_limits(&self) -> Result<(), Error> {
        if self.tasks.max_concurrent_polls == 0 || self.tasks.max_active == Some(0) {
            return Err(invalid_setting("a limit of 0 polls or 0 tasks would block all requests")
                .with_advice("set it to 1 or more"));
        }
        let timeouts = [
            self.connect_timeout,
            self.silence_timeout,
            self.tasks.submit_deadline,
            Some(self.tasks.poll_deadline),
            Some(self.downloads.deadline),
        ];
        if timeouts.iter().flatten().any(Duration::is_zero) {
            return Err(invalid_setting(
                "a timeout of 0 would fail every request, including submissions that may be billed",
            )
            .with_advice("set it to at least a few seconds"));
        }
        Ok(())
    }

    pub(super) fn key(&self) -> Result<HeaderValue, Error> {
        let key = self
            .api_key
            .as_ref()
            .ok_or_else(|| missing("the API key", "ClientBuilder::api_key", API_KEY_VARIABLE))?;
        let problem =
            "the API key is empty or contains characters that are not allowed in a header";
        secret_header(key.reveal().trim())
            .filter(|key| !key.is_empty())
            .ok_or_else(|| incorrect(problem, API_KEY_VARIABLE))
    }

    /// Returns the base URL, and the regional base URL if it is set.
    pub(super) fn bases(&self) -> Result<(Url, Option<Url>), Error> {
        let base = self
            .base_url
            .as_deref()
            .ok_or_else(|| missing("the base URL", "ClientBuilder::base_url", BASE_URL_VARIABLE))?;
        let parse = |url, variable| {
            parse_base(url, self.allow_http).map_err(|error| error.with_setting(variable))
        };
        let base = parse(base, BASE_URL_VARIABLE)?;
        let regional = self.regional_base_url.as_deref();
        let regional = regional.map(|url| parse(url, REGIONAL_BASE_URL_VARIABLE)).transpose()?;
        Ok((base, regional))
    }

    pub(super) fn prefix(&self) -> Result<String, Error> {
        let prefix = self.model_prefix.as_deref().unwrap_or(NEUTRAL_PREFIX);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if prefix.is_empty() || !prefix.chars().all(is_plain) {
            let problem = "the model prefix may contain only letters, digits, `-` and `_`";
            return Err(incorrect(problem, MODEL_PREFIX_VARIABLE));
        }
        Ok(prefix.to_owned())
    }

    pub(super) fn check_webhook(&self) -> Result<(), Error> {
        let secret = self.tasks.webhook.secret.as_ref().map(Secret::reveal);
        if secret.is_some_and(|text| text.trim().is_empty() || text.starts_with('\u{feff}')) {
            let problem = "the webhook secret is blank or begins with a byte order mark";
            return Err(incorrect(problem, WEBHOOK_SECRET_VARIABLE));
        }
        let Some(address) = &self.tasks.webhook.url else { return Ok(()) };
        let is_too_long = address.reveal().chars().count() > LONGEST_WEBHOOK_URL;
        if is_too_long || parse_web_url(address.reveal()).is_err() {
            let problem = format!(
                "the webhook URL is not an http or https URL of at most {LONGEST_WEBHOOK_URL} \
                 characters"
            );
            return Err(incorrect(problem, WEBHOOK_URL_VARIABLE));
        }
        Ok(())
    }

    /// Returns the headers of every submission and poll.
    pub(super) fn default_headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.default_headers {
            let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
            let reserved = |name: &HeaderName| RESERVED_HEADERS.contains(&name.as_str());
            let Some(name) = parsed.filter(|name| !reserved(name)) else {
                let name = printable(name);
                return Err(invalid_setting(format!(
                    "default_header cannot set the header `{name}`"
                ))
                .with_advice("choose a valid header name that neither the SDK nor HTTP sets"));
            };
            let value = secret_header(value.reveal()).ok_or_else(|| {
                invalid_setting(format!(
                    "the value of the header `{name}` contains characters that are not allowed"
                ))
            })?;
            headers.append(name, value);
        }
        Ok(headers)
    }

    pub(super) fn user_agent(&self) -> Result<HeaderValue, Error> {
        let mut user_agent = concat!("imagekiln/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(suffix) = &self.user_agent_suffix {
            user_agent.extend([" ", suffix]);
        }
        HeaderValue::try_from(user_agent).map_err(|_| {
            invalid_setting(
                "the user agent suffix contains characters that are not allowed in a header",
            )
        })
    }

    /// Returns the proxy and its URL.
    pub(super) fn proxy_settings(&self) -> Result<Option<(Proxy, Url)>, Error> {
        let Some(address) = &self.proxy else { return Ok(None) };
        let unusable = |problem: &str| invalid_setting(format!("the proxy URL {problem}"));
        let url = parse_web_url(address.reveal()).map_err(unusable)?;
        let proxy = Proxy::all(url.clone())
            .map_err(|error| unusable("cannot be used").with_source(error.without_url()))?;
        Ok(Some((proxy, url)))
    }
}

/// Returns `None` if the value is not valid in a header.
fn secret_header(value: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(value).ok()?;
    // Keeps the value out of logs and out of HTTP/2 header compression tables.
    header.set_sensitive(true);
    Some(header)
}

fn parse_base(text: &str, allow_http: bool) -> Result<Url, Error> {
    let unusable =
        |what: &str| invalid_setting(format!("the base URL {what}")).with_advice(CORRECT_IT);
    if let Some(url) = with_scheme(text.trim()) {
        return Err(
            invalid_setting("the base URL has no scheme").with_advice(format!("write {url}"))
        );
    }
    let mut url =
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
            "has a query, a fragment or a user; use only a scheme, a host, a port and a path",
        ));
    }
    if url.scheme() == "http" && !allow_http && !is_loopback(&url) {
        let host = url.host_str().unwrap_or_default();
        return Err(invalid_setting(format!(
            "the base URL uses http on another machine ({host}), which would send the API key \
             unencrypted"
        ))
        .with_advice(format!("use https, or set {ALLOW_HTTP_VARIABLE}=1"))
        .with_function("ClientBuilder::allow_http"));
    }
    // Idempotency keys belong to a service, which has one base URL however it is written.
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Adds the missing scheme to text such as `127.0.0.1:8811` or `api.example.com`. Returns `None`
/// for all other text: it may contain a secret, so the error must not repeat it.
fn with_scheme(text: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    let is_host = text.contains(['.', ':']) && text.chars().all(is_plain);
    let http = Url::parse(&format!("http://{text}")).ok().filter(|_| is_host)?;
    let scheme = if is_loopback(&http) { "http" } else { "https" };
    Some(format!("{scheme}://{text}"))
}

pub(super) fn parse_hosts(
    texts: &[String],
    setter: &'static str,
) -> Result<Vec<AllowedHost>, Error> {
    let parse = |text: &String| {
        AllowedHost::parse(text).map_err(|problem| {
            invalid_setting(format!("`{}` cannot be allowed as a host: {problem}", printable(text)))
                .with_advice(
                    "write a host with an optional port (`host.example.net`, `10.0.0.7:9000` or \
                     `[2001:db8::7]`)",
                )
                .with_function(setter)
        })
    };
    texts.iter().map(parse).collect()
}

fn incorrect(problem: impl Into<String>, variable: &'static str) -> Error {
    invalid_setting(problem).with_advice(CORRECT_IT).with_setting(variable)
}

fn missing(what: &str, setter: &'static str, variable: &'static str) -> Error {
    invalid_setting(format!("{what} is not set"))
        .with_setting(variable)
        .with_advice("set it")
        .with_function(setter)
}
