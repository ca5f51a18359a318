//! What is kept of a task's request.

use serde_json::Value;

use crate::webhooks;

/// A larger request, without its images, is not kept.
const MAX_KEPT_BYTES: usize = 256 << 10;

/// The body as the log shows it: images summarized, secrets redacted, the webhook URL without its
/// query.
pub(crate) struct LoggedRequest {
    /// As text, which takes much less memory than many small values.
    json: Box<str>,
    pub(crate) prompt: Box<str>,
}

impl LoggedRequest {
    /// Summarizes a body whose images are summarized and whose secrets are redacted, with the
    /// fields without an effect.
    pub(crate) fn new(mut body: Value, unlisted: Value) -> Self {
        if let Some(address) = body.get_mut("webhook_url").filter(|address| address.is_string()) {
            *address = webhooks::shown(address.as_str().unwrap_or_default()).into();
        }
        let prompt = body.get("prompt").and_then(Value::as_str).unwrap_or_default();
        let prompt = Box::from(prompt);
        if let (Value::Object(body), Value::Object(unlisted)) = (&mut body, unlisted) {
            body.extend(unlisted);
        }
        let json = body.to_string();
        if json.len() > MAX_KEPT_BYTES {
            let note = format!("[a request of {} bytes without its images, not kept]", json.len());
            Self { json: Value::from(note).to_string().into(), prompt: Box::default() }
        } else {
            Self { prompt, json: json.into() }
        }
    }

    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// The memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.json.len() + self.prompt.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_requests_are_not_kept() {
        let large = json!({ "prompt": "x".repeat(MAX_KEPT_BYTES) });
        let large = LoggedRequest::new(large, Value::Null);
        assert!(large.body().as_str().is_some_and(|text| text.starts_with("[a request of")));
    }
}
