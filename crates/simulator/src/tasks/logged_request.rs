//! What is kept of a task's request.

use std::collections::BTreeSet;

use imagekiln_painter::images;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::{values::texts, webhooks};

/// A larger request, without its images, is not kept.
const MAX_KEPT_BYTES: usize = 256 << 10;

/// The body as the log shows it: images summarized, secrets redacted, the webhook URL without its
/// query.
///
/// It is kept as text, which takes much less memory than many small values.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct LoggedRequest(Box<str>);

impl LoggedRequest {
    /// Summarizes a body whose images are summarized and whose secrets are redacted, with the
    /// fields without an effect.
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

    /// Summarizes the body of a refused request, which may be anything. Returns `None` if it is not
    /// JSON.
    pub(crate) fn of_refused(body: &[u8], secret_fields: &BTreeSet<String>) -> Option<Self> {
        let mut body = serde_json::from_slice(body).ok()?;
        redact(secret_fields, &mut body);
        texts::replace(&mut body, &|text| {
            if images::seems_image(text) {
                return Some(format!("[an image, {} characters]", text.len()).into());
            }
            // The query may be signed.
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

    /// Whether the body is kept, and not a note in its place.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.starts_with('{')
    }
}

/// Redacts the secret fields of a body.
pub(crate) fn redact(secret_fields: &BTreeSet<String>, body: &mut Value) {
    for (name, value) in body.as_object_mut().into_iter().flatten() {
        if secret_fields.contains(name) && !value.is_null() {
            *value = "[redacted]".into();
        }
    }
}
