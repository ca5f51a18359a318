//! Removes secrets from responses that echo the request: the key, secret fields, and signed
//! queries.

use serde_json::Value;
use url::{Url, form_urlencoded::byte_serialize};

use super::service::Service;
use crate::{
    Address, FieldKind, ImageSource, Request, TaskRef,
    values::{REDACTED, is_secret, one_line, web_url::is_url},
};

/// Parts of a signed URL shorter than this are not secret, and would occur everywhere.
const SHORTEST_SIGNED_PART: usize = 6;

/// The secrets of one exchange.
pub(crate) struct Redaction(Vec<String>);

impl Redaction {
    /// Collects the secrets of a submission: the key, the secret fields, and the queries of URLs.
    pub(crate) fn of_request(service: &Service, request: &Request) -> Self {
        let mut redaction = Self::of_service(service);
        for (name, value) in &request.body {
            let field = request.operation().field(name);
            let secret =
                is_secret(name) || field.is_some_and(|field| field.kind == FieldKind::Secret);
            redaction.add_json(value, secret);
        }
        for (_, image) in request.images.iter() {
            if let ImageSource::Url(url) = image.source() {
                redaction.add_url(url.reveal());
            }
        }
        redaction
    }

    /// Collects the secrets of a poll: the key and the query of the polling URL. `url` is that URL,
    /// parsed.
    pub(crate) fn of_poll(service: &Service, task: &TaskRef, url: &Url) -> Self {
        let mut redaction = Self::of_service(service);
        redaction.add_query(task.polling_url().reveal(), url, task.id());
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
        if !self.is_in(text) {
            return text.to_owned();
        }
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
        // Replacing rebuilds every object, and hardly any response contains a secret.
        if self.is_in_json(is_kept, value) {
            self.replace_unless(is_kept, value);
        }
    }

    fn is_in_json(&self, is_kept: fn(&str) -> bool, value: &Value) -> bool {
        let is_in = |value| self.is_in_json(is_kept, value);
        match value {
            Value::String(text) => !is_kept(text) && self.is_in(text),
            Value::Array(values) => values.iter().any(is_in),
            Value::Object(members) => {
                members.iter().any(|(name, value)| self.is_in(name) || is_in(value))
            }
            _ => false,
        }
    }

    fn replace_unless(&self, is_kept: fn(&str) -> bool, value: &mut Value) {
        match value {
            Value::String(text) if !is_kept(text) && self.is_in(text) => *text = self.redact(text),
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.replace_unless(is_kept, value));
            }
            Value::Object(members) => {
                let redacted = std::mem::take(members).into_iter().map(|(name, mut value)| {
                    self.replace_unless(is_kept, &mut value);
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

    /// Whether a secret is in the printed form of a URL.
    pub(crate) fn is_in_printed(&self, url: &Url) -> bool {
        // The printed form omits the user and ends before the query, so without a user it is the
        // beginning of the URL.
        let has_user = !url.username().is_empty() || url.password().is_some();
        (has_user || self.is_in(url.as_str()))
            && self.is_in(&Address::from(url.clone()).to_string())
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
        if is_url(text)
            && let Ok(url) = Url::parse(text)
        {
            self.add_query(text, &url, "");
        }
    }

    /// Adds the secret parts of a URL, except `public`: the task id in a polling URL is not secret.
    fn add_query(&mut self, text: &str, url: &Url, public: &str) {
        // Parsing normalizes, so add the query as written, too.
        let written = text.split_once('?').map(|(_, query)| query);
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
        self.add_form(secret);
        // Most secrets are the same when they are encoded.
        if byte_serialize(secret.as_bytes()).next() != Some(secret) {
            self.add_form(&byte_serialize(secret.as_bytes()).collect::<String>());
        }
    }

    fn add_form(&mut self, form: &str) {
        if !form.is_empty() && !self.0.iter().any(|known| known == form) {
            let at = self.0.partition_point(|known| known.len() >= form.len());
            self.0.insert(at, form.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use url::Url;

    use super::Redaction;
    use crate::Address;

    #[test]
    fn a_secret_in_the_printed_form_of_a_url_is_found() {
        for (url, expected) in [
            ("https://a.example/poll?id=1", false),
            ("https://a.example/poll?key=KEY-1234", false),
            ("https://a.example/poll#KEY-1234", false),
            ("https://KEY-1234@a.example/poll", false),
            ("https://u:KEY-1234@a.example/poll", false),
            ("https://a.example/KEY-1234/poll", true),
            ("https://u@a.example/KEY-1234?id=1", true),
        ] {
            let mut redaction = Redaction(Vec::new());
            redaction.add("KEY-1234");
            let url = Url::parse(url).unwrap();
            let printed = Address::from(url.clone()).to_string();
            assert_eq!(redaction.is_in(&printed), expected, "{printed}");
            assert_eq!(redaction.is_in_printed(&url), expected, "{url}");
        }
    }

    #[test]
    fn secrets_are_replaced_in_names_and_at_every_depth() {
        let mut redaction = Redaction(Vec::new());
        redaction.add("KEY-1234");
        let mut value = json!({
            "a": [{ "KEY-1234": 1, "b": "x KEY-1234" }, "https://a.example/?KEY-1234"],
            "c": "plain",
        });
        redaction.redact_json_except_urls(&mut value);
        let expected = json!({
            "a": [{ "[redacted]": 1, "b": "x [redacted]" }, "https://a.example/?KEY-1234"],
            "c": "plain",
        });
        assert_eq!(value, expected);
    }
}
