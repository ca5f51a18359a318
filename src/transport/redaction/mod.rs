//! Removes secrets from responses, because a service may echo parts of a request: the key, secret
//! fields, and the queries of signed URLs.

mod memory;

use std::{cmp::Reverse, sync::Arc};

use serde_json::Value;
use url::{Url, form_urlencoded::byte_serialize};

use self::memory::Form;
pub(crate) use self::memory::{Learned, Secrets};
use crate::{
    FieldKind, ImageInput, Request, TaskRef,
    values::{REDACTED, is_secret, one_line, text::is_url},
};

/// The minimum length of a part of a signed URL, of a header value or of a webhook secret to
/// redact, in bytes. Shorter text protects nothing, and redacting it would damage unrelated text in
/// which it occurs by chance.
const SHORTEST_SECRET: usize = 6;

/// The secrets of one exchange.
pub(crate) struct Redaction {
    of_client: Arc<Vec<Form>>,
    of_exchange: Forms,
}

impl Redaction {
    /// Collects the secrets of a submission: the secrets of the client, the secret fields of the
    /// request, and the queries of URLs in the request.
    pub(crate) fn of_request(secrets: &Secrets, request: &Request) -> Self {
        let mut of_exchange = Forms::default();
        of_exchange.add_fields(request, true);
        for (_, image) in request.all_images() {
            if let ImageInput::Url(url) = image {
                of_exchange.add_url(url.reveal());
            }
        }
        Self { of_client: secrets.known(), of_exchange }
    }

    /// Collects the secrets of a poll: the secrets of the client, and the query of the polling URL.
    /// `url` is the parsed polling URL.
    pub(crate) fn of_poll(secrets: &Secrets, task: &TaskRef, url: &Url) -> Self {
        let mut of_exchange = Forms::default();
        of_exchange.add_query(task.polling_url().reveal(), url, task.id());
        Self { of_client: secrets.known(), of_exchange }
    }

    /// Collects the secrets like [`of_poll`](Self::of_poll), but only to redact the body of the
    /// response. If the body certainly contains none of the secrets, collects nothing, which is
    /// faster.
    pub(crate) fn of_poll_body(
        secrets: &Secrets,
        task: &TaskRef,
        url: &Url,
        body: Option<&[u8]>,
    ) -> Self {
        let known = secrets.known();
        let text = body.and_then(|body| str::from_utf8(body).ok());
        // If the body contains escapes or the URL is percent-encoded, the body may contain a secret
        // in a form that this search does not find.
        let is_free = text.is_some_and(|text| {
            !text.contains(['\\', '%'])
                && !url.as_str().contains(['%', '+'])
                && !known.iter().any(|form| text.contains(&*form.text))
                && !secret_parts(task.polling_url().reveal(), url)
                    .any(|part| is_signed(part, task.id()) && text.contains(part))
        });
        if is_free {
            return Self { of_client: Arc::default(), of_exchange: Forms::default() };
        }
        Self::of_poll(secrets, task, url)
    }

    /// Collects the secrets of a download: the query of the delivery URL.
    pub(crate) fn of_download(url: &Url) -> Self {
        let mut of_exchange = Forms::default();
        of_exchange.add_query(url.as_str(), url, "");
        Self { of_client: Arc::default(), of_exchange }
    }

    fn forms(&self) -> impl Iterator<Item = &str> {
        let of_client = self.of_client.iter().map(|form| &*form.text);
        of_client.chain(self.of_exchange.0.iter().map(String::as_str))
    }

    /// Replaces the secrets in `text`. Does not truncate.
    pub(crate) fn redact(&self, text: &str) -> String {
        if !self.is_in(text) {
            return text.to_owned();
        }
        let mut forms: Vec<&str> = self.forms().collect();
        // Replace longer secrets first: a shorter one that is a part of a longer one would leave
        // the rest of the longer one.
        forms.sort_by_key(|form| Reverse(form.len()));
        forms.into_iter().fold(text.to_owned(), |text, form| text.replace(form, REDACTED))
    }

    /// Replaces the secrets in `text`, and formats it as one line of at most `limit` characters.
    pub(crate) fn line(&self, text: &str, limit: usize) -> String {
        one_line(&self.redact(text), limit)
    }

    /// Replaces the secrets in every string and every name in `value`.
    pub(crate) fn redact_json(&self, value: &mut Value) {
        self.redact_unless(|_| false, value);
    }

    /// Replaces the secrets like [`redact_json`](Self::redact_json), but keeps URLs. The client
    /// needs complete polling and delivery URLs, and an [`Address`] does not print its query.
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
                // Rebuild the object only if a name contains a secret, which is rare.
                if members.keys().any(|name| self.is_in(name)) {
                    let old = std::mem::take(members).into_iter();
                    *members = old.map(|(name, value)| (self.redact(&name), value)).collect();
                }
                members.values_mut().for_each(|value| self.redact_unless(is_kept, value));
            }
            _ => {}
        }
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.forms().any(|form| text.contains(form))
    }
}

/// Secrets, each in every form in which a service may echo it.
#[derive(Default)]
struct Forms(Vec<String>);

impl Forms {
    /// Adds the secret fields of a request at every depth and, with `urls`, the queries of URLs in
    /// other fields.
    fn add_fields(&mut self, request: &Request, urls: bool) {
        for (name, value) in &request.body {
            let field = request.operation().field(name);
            let is_secret =
                is_secret(name) || field.is_some_and(|field| field.kind == FieldKind::Secret);
            self.add_json(value, is_secret, urls);
        }
    }

    fn add_json(&mut self, value: &Value, secret: bool, urls: bool) {
        match value {
            Value::String(text) if secret => self.add(text),
            Value::String(text) if urls => self.add_url(text),
            Value::Number(number) if secret => self.add(&number.to_string()),
            Value::Array(values) => {
                values.iter().for_each(|value| self.add_json(value, secret, urls));
            }
            Value::Object(members) => members
                .iter()
                .for_each(|(name, value)| self.add_json(value, secret || is_secret(name), urls)),
            _ => {}
        }
    }

    /// Adds the query, the fragment, the user name and the password of a URL. Ignores other text.
    fn add_url(&mut self, text: &str) {
        if is_url(text)
            && let Ok(url) = Url::parse(text)
        {
            self.add_query(text, &url, "");
        }
    }

    /// Adds the secret parts of a URL, except a part that equals `public`. This is the task id of a
    /// polling URL, which is not secret.
    fn add_query(&mut self, text: &str, url: &Url, public: &str) {
        for part in secret_parts(text, url) {
            self.add_signed(part, public);
        }
        for (_, value) in url.query_pairs() {
            self.add_signed(&value, public);
        }
    }

    fn add_signed(&mut self, part: &str, public: &str) {
        if is_signed(part, public) {
            self.add(part);
        }
    }

    /// Adds a secret in every form in which a service may echo it.
    fn add(&mut self, secret: &str) {
        for form in [secret.to_owned(), byte_serialize(secret.as_bytes()).collect()] {
            if !form.is_empty() && !self.0.contains(&form) {
                self.0.push(form);
            }
        }
    }
}

/// Returns the parts of a URL that may be secret, without decoding them. `text` is the URL as it
/// was written, and `url` is the parsed URL. Both are needed, because parsing normalizes a URL, and
/// a service may echo either form.
fn secret_parts<'a>(text: &'a str, url: &'a Url) -> impl Iterator<Item = &'a str> {
    let written = text.split_once('?').map(|(_, query)| query);
    let values = written.into_iter().flat_map(|query| query.split(['&', '#']));
    let values = values.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    let parts = [written, url.query(), url.fragment(), Some(url.username()), url.password()];
    parts.into_iter().flatten().chain(values)
}

/// Whether a part of a URL is long enough to be secret and does not equal `public`.
fn is_signed(part: &str, public: &str) -> bool {
    part.len() >= SHORTEST_SECRET && part != public
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Address;

    fn of_secret(secret: &str) -> Redaction {
        let mut of_exchange = Forms::default();
        of_exchange.add(secret);
        Redaction { of_client: Arc::default(), of_exchange }
    }

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
            let redaction = of_secret("KEY-1234");
            let url = Url::parse(url).unwrap();
            let printed = Address::from(url.clone()).to_string();
            assert_eq!(redaction.is_in(&printed), expected, "{printed}");
        }
    }

    #[test]
    fn secrets_are_replaced_in_names_and_at_every_depth() {
        let redaction = of_secret("KEY-1234");
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
