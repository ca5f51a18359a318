//! The API key.

use reqwest::header::HeaderValue;

use crate::Secret;

/// The name of the header that carries the key (security scheme `ApiKey` of the contract).
pub(crate) const KEY_HEADER: &str = "x-key";

/// An API key that is a valid header value.
#[derive(Debug, Clone)]
pub(crate) struct ApiKey {
    text: Secret<String>,
    header: HeaderValue,
}

impl ApiKey {
    /// Returns `None` if the key is empty or not a valid header value.
    pub(crate) fn new(key: &str) -> Option<Self> {
        let text = key.trim();
        let mut header = HeaderValue::from_str(text).ok().filter(|header| !header.is_empty())?;
        // Keeps the key out of logs of the HTTP stack and out of HTTP/2 header compression tables.
        header.set_sensitive(true);
        Some(Self { text: text.into(), header })
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    pub(crate) fn text(&self) -> &Secret<String> {
        &self.text
    }
}
