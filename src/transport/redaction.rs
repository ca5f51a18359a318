//! Removes secrets from responses that echo the request: the key, secret fields, and signed
//! queries.

use serde_json::Value;
use url::Url;

use super::service::Service;
use crate::{
    Address, FieldKind, ImageSource, Request, TaskRef,
    contract::FieldValue,
    values::{REDACTED, one_line},
};

/// Parts of a signed URL shorter than this are not secret, and would occur everywhere.
const SHORTEST_SIGNED_PART: usize = 6;

/// The secrets of one exchange.
pub(crate) struct Redaction(Vec<String>);

impl Redaction {
    /// Collects the secrets of a submission: the key, the secret fields, and the queries of URLs.
    pub(crate) fn of_request(service: &Service, request: &Request) -> Self {
        let mut redaction = Self::of_service(service);
        for (name, value) in &request.fields {
            let field = request.operation().field(name);
            let secret =
                is_secret(name) || field.is_some_and(|field| field.kind == FieldKind::Secret);
            value.each_part(&mut |part| match part {
                FieldValue::Json(value) => redaction.add_json(value, secret),
                FieldValue::Image(image) => {
                    if let ImageSource::Url(url) = image.source() {
                        redaction.add_url(url.reveal());
                    }
                }
                // `each_part` visits what they contain.
                FieldValue::List(_) | FieldValue::Object(_) => {}
            });
        }
        redaction
    }

    /// Collects the secrets of a poll: the key and the query of the polling URL.
    pub(crate) fn of_poll(service: &Service, task: &TaskRef) -> Self {
        let mut redaction = Self::of_service(service);
        redaction.add_query(task.polling_url(), task.id());
        redaction
    }

    /// Collects the key, and the values of the headers that the program adds, which may be secret.
    fn of_service(service: &Service) -> Self {
        let mut redaction = Self(Vec::new());
        redaction.add(service.key.text());
        for value in service.default_headers.values() {
            redaction.add_signed(value.to_str().unwrap_or_default(), "");
        }
        redaction
    }

    /// Replaces the secrets in `text`. Does not truncate.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), REDACTED))
    }

    /// Replaces the secrets in `text`, and formats it as one line of at most `limit` characters.
    pub(crate) fn line(&self, text: &str, limit: usize) -> String {
        one_line(&self.redact(text), limit)
    }

    /// Replaces the secrets in every string and every name in `value`.
    pub(crate) fn redact_json(&self, value: &mut Value) {
        self.redact_unless(|_| false, value);
    }

    /// As [`redact_json`](Self::redact_json), but keeps URLs: polling and delivery URLs are needed
    /// whole, and an [`Address`] prints without its query.
    pub(crate) fn redact_json_except_urls(&self, value: &mut Value) {
        self.redact_unless(is_url, value);
    }

    fn redact_unless(&self, is_kept: fn(&str) -> bool, value: &mut Value) {
        match value {
            Value::String(text) if !is_kept(text) && self.is_in(text) => *text = self.redact(text),
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.redact_unless(is_kept, value));
            }
            Value::Object(members) => {
                let redacted = std::mem::take(members).into_iter().map(|(name, mut value)| {
                    self.redact_unless(is_kept, &mut value);
                    (self.redact(&name), value)
                });
                *members = redacted.collect();
            }
            _ => {}
        }
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    fn add_json(&mut self, value: &Value, secret: bool) {
        match value {
            Value::String(text) if secret => self.add(text),
            Value::String(text) => self.add_url(text),
            Value::Number(number) if secret => self.add(&number.to_string()),
            Value::Array(values) => values.iter().for_each(|value| self.add_json(value, secret)),
            Value::Object(members) => members
                .iter()
                .for_each(|(name, value)| self.add_json(value, secret || is_secret(name))),
            _ => {}
        }
    }

    /// Adds the query and the user information of a URL. Ignores other text.
    fn add_url(&mut self, text: &str) {
        if is_url(text) {
            self.add_query(&Address::from(text), "");
        }
    }

    /// Adds the secret parts of a URL, except `public`: the task id in a polling URL is not secret.
    fn add_query(&mut self, address: &Address, public: &str) {
        let Ok(url) = Url::parse(address.reveal()) else { return };
        // Parsing normalizes, so add the query as written, too.
        let written = address.reveal().split_once('?').map(|(_, query)| query);
        let parts = [written, url.query(), url.fragment(), Some(url.username()), url.password()];
        for part in parts.into_iter().flatten() {
            self.add_signed(part, public);
        }
        for (_, value) in url.query_pairs() {
            self.add_signed(&value, public);
        }
        for pair in written.into_iter().flat_map(|query| query.split(['&', '#'])) {
            self.add_signed(pair.split_once('=').map_or(pair, |(_, value)| value), public);
        }
    }

    fn add_signed(&mut self, part: &str, public: &str) {
        if part.len() >= SHORTEST_SIGNED_PART && part != public {
            self.add(part);
        }
    }

    /// Adds a secret in every form in which a service may echo it. Longer secrets are replaced
    /// first, so that a shorter one never splits them.
    fn add(&mut self, secret: &str) {
        for form in [secret.to_owned(), encoded(secret)] {
            if !form.is_empty() && !self.0.contains(&form) {
                let at = self.0.partition_point(|known| known.len() >= form.len());
                self.0.insert(at, form);
            }
        }
    }
}

pub(crate) fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Whether the name suggests that a field is secret, including fields that the contract does not
/// define.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["secret", "token", "password", "passwd", "credential", "api_key", "apikey", "authorization"]
        .iter()
        .any(|word| name.contains(word))
}
