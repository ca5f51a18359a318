//! The part of a task's request that the simulator keeps.

use std::collections::BTreeSet;

use imagekiln_painter::images;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::{values::texts, webhooks};

/// The maximum size of a kept request without its images, in bytes.
const MAX_KEPT_BYTES: usize = 256 << 10;

/// A request body as the log shows it: images are summarized, secrets are redacted, and the webhook
/// URL has no query.
///
/// The body is stored as text, because that takes much less memory than a JSON value with many
/// small parts.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct LoggedRequest(Box<str>);

impl LoggedRequest {
    /// Creates the log's version of a body whose images are already summarized, and whose secrets
    /// are already redacted. `unlisted` contains the fields that had no effect.
    pub(crate) fn new(mut body: Value, unlisted: Value) -> Self {
        if let Some(address) = body.get_mut("webhook_url").filter(|address| address.is_string()) {
            *address = webhooks::shown(address.as_str().unwrap_or_default()).into();
        }
        if let (Value::Object(body), Value::Object(unlisted)) = (&mut body, unlisted) {
            body.extend(unlisted);
        }
        let json = body.to_string();
        if json.len() > MAX_KEPT_BYTES {
            let note = format!("[a request of {} bytes without its images, not kept]", json.len());
            Self(Value::from(note).to_string().into())
        } else {
            Self(json.into())
        }
    }

    /// Creates the log's version of a refused body, which may contain anything. Returns `None` if
    /// the body is not JSON.
    pub(crate) fn of_refused(body: &[u8], secret_fields: &BTreeSet<String>) -> Option<Self> {
        let mut body = serde_json::from_slice(body).ok()?;
        redact(secret_fields, &mut body);
        texts::replace(&mut body, &|text| {
            if images::seems_image(text) {
                return Some(format!("[an image, {} characters]", text.len()).into());
            }
            // The query of a URL may contain a signature.
            let url = Url::parse(text).ok().filter(|url| !url.cannot_be_a_base())?;
            Some(webhooks::shown(url.as_str()).into())
        });
        Some(Self::new(body, Value::Null))
    }

    /// The text of the JSON.
    pub(crate) fn json(&self) -> &str {
        &self.0
    }

    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Whether the body was kept, and not replaced by a note because of its size.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.starts_with('{')
    }
}

/// What replaces a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Redacts the secret fields of a body.
pub(crate) fn redact(secret_fields: &BTreeSet<String>, body: &mut Value) {
    for (name, value) in body.as_object_mut().into_iter().flatten() {
        if secret_fields.contains(name) && !value.is_null() {
            *value = REDACTED.into();
        }
    }
}
