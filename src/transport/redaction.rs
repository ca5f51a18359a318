//! What must not come out of a response that echoes the request: the key, secrets, and what was
//! sent signed.

use serde_json::Value;
use url::Url;

use super::service::Service;
use crate::{
    Address, FieldKind, ImageSource, Request, TaskRef,
    contract::FieldValue,
    values::{REDACTED, one_line},
};

/// Parts of a signed URL that are shorter than this say nothing, and would be found everywhere.
const SHORTEST_SIGNED_PART: usize = 6;

/// The secrets of one exchange.
pub(crate) struct Redaction(Vec<String>);

impl Redaction {
    /// For a submission: the key, the request's secrets, and the queries of its URLs.
    pub(crate) fn of_request(service: &Service, request: &Request) -> Self {
        let mut redaction = Self::of_service(service);
        for (name, value) in &request.fields {
            match value {
                FieldValue::Json(value) => {
                    let secret = is_secret(name)
                        || request
                            .operation()
                            .field(name)
                            .is_some_and(|field| field.kind == FieldKind::Secret);
                    redaction.add_json(value, secret);
                }
                FieldValue::Image(image) => {
                    if let ImageSource::Url(url) = image.source() {
                        redaction.add_url(url.reveal());
                    }
                }
            }
        }
        redaction
    }

    /// For a poll: the key, and the query of the polling URL.
    pub(crate) fn of_poll(service: &Service, task: &TaskRef) -> Self {
        let mut redaction = Self::of_service(service);
        redaction.add_query(task.polling_url(), task.id());
        redaction
    }

    /// The key, and the values of the headers that the program adds: they may be secrets.
    fn of_service(service: &Service) -> Self {
        let mut redaction = Self(Vec::new());
        redaction.add(service.key.text());
        for value in service.default_headers.values() {
            redaction.add_signed(value.to_str().unwrap_or_default(), "");
        }
        redaction
    }

    /// `text` without the secrets. Nothing is shortened.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), REDACTED))
    }

    /// `text` without the secrets, on one line of at most `limit` characters.
    pub(crate) fn line(&self, text: &str, limit: usize) -> String {
        one_line(&self.redact(text), limit)
    }

    /// Removes the secrets from every text in `value`. URLs stay whole: an
    /// [`Address`] is printed without its query.
    pub(crate) fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) if !is_url(text) && self.is_in(text) => *text = self.redact(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_json(value)),
            Value::Object(members) => {
                members.values_mut().for_each(|value| self.redact_json(value));
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

    /// The query and the user information of a URL; other text has neither.
    fn add_url(&mut self, text: &str) {
        if is_url(text) {
            self.add_query(&Address::from(text), "");
        }
    }

    /// `public` is a value that may be shown: the id of a task is part of its polling URL.
    fn add_query(&mut self, address: &Address, public: &str) {
        let Ok(url) = Url::parse(address.reveal()) else { return };
        // As it was written, too: parsing normalises.
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

    /// In the forms in which a service may repeat it. Longer ones first, so that a part never
    /// breaks up the whole.
    fn add(&mut self, secret: &str) {
        for form in [secret.to_owned(), encoded(secret)] {
            if !form.is_empty() && !self.0.contains(&form) {
                let at = self.0.partition_point(|known| known.len() >= form.len());
                self.0.insert(at, form);
            }
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Whether a field of this name holds a secret, also where the contract does not list it.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["secret", "token", "password", "passwd", "credential", "api_key", "apikey", "authorization"]
        .iter()
        .any(|word| name.contains(word))
}
