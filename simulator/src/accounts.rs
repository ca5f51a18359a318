//! Who may call: the known keys.

use axum::http::HeaderMap;

/// The header that carries the key.
const HEADER: &str = "x-key";

pub(crate) struct Keys(Vec<String>);

impl Keys {
    pub(crate) fn new(keys: Vec<String>) -> Self {
        Self(keys)
    }

    /// The first of the configured keys.
    pub(crate) fn default_key(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Why a request with these headers is refused, if it is.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let given = headers.get(HEADER).ok_or("Not authenticated: the header x-key is missing")?;
        if self.0.iter().any(|key| key.as_bytes() == given.as_bytes()) {
            Ok(())
        } else {
            Err("Not authenticated: the key in x-key is unknown")
        }
    }
}
