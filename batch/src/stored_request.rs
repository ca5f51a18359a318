//! The fields of requests, in their stored form.

use imagekiln::Request;
use serde_json::Value;

/// A request as JSON; see [`Request::to_json`].
#[derive(Default)]
pub(crate) struct StoredRequest(pub(crate) Value);

impl StoredRequest {
    pub(crate) fn new(request: &Request) -> Result<Self, imagekiln::Error> {
        // It was valid JSON a moment ago.
        Ok(Self(serde_json::from_str(&request.to_json()?).unwrap_or_default()))
    }

    pub(crate) fn prompt(&self) -> &str {
        self.field("prompt").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn seed(&self) -> Option<i64> {
        self.field("seed")?.as_i64()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        self.0.get("fields")?.get(name)
    }
}
