//! What an accepted request asks for, read from its validated body.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    contract::{Fields, Submission},
    media::{
        images::Input,
        paint::{Format, Settings},
    },
    request::validation::Checked,
    tasks::{
        moderation::Moderation,
        outcome::{Directives, Outcome},
    },
    webhooks,
};

/// A larger request, without its images, is not kept.
const MAX_KEPT_BYTES: usize = 256 << 10;

/// The parts of a request that the simulator uses.
pub(crate) struct ParsedRequest {
    pub(crate) prompt: String,
    pub(crate) seed: Option<i128>,
    pub(crate) format: Format,
    pub(crate) settings: Settings,
    pub(crate) directives: Directives,
    pub(crate) webhook_url: Option<String>,
    pub(crate) webhook_secret: Option<String>,
    pub(crate) shown: LoggedRequest,
}

/// The body as the log shows it: images summarized, secrets redacted, the webhook URL without its
/// query.
pub(crate) struct LoggedRequest {
    /// As text, which takes much less memory than many small values.
    json: Box<str>,
    pub(crate) prompt: Box<str>,
}

impl LoggedRequest {
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// The memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.json.len() + self.prompt.len()
    }
}

impl ParsedRequest {
    /// Reads a body and leaves `null` in its place.
    pub(crate) fn read(
        submission: &Submission,
        secret_fields: &BTreeSet<String>,
        moderation: &Moderation,
        checked: &mut Checked,
    ) -> Self {
        let mut body = checked.body.take();
        let webhook_secret = body.get("webhook_secret").and_then(Value::as_str).map(str::to_owned);
        redact(secret_fields, &mut body);
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let texts = texts(&body, secret_fields, &checked.inputs);
        let mut directives = Directives::of(&texts);
        if directives.outcome == Outcome::Ready {
            let tolerance = submission.fields.value(&body, "safety_tolerance");
            directives.outcome = moderation.verdict(&texts, tolerance).unwrap_or_default();
        }
        Self {
            prompt: text("prompt").unwrap_or_default(),
            seed: body.get("seed").and_then(integer),
            format: format(&submission.fields, &body),
            settings: Settings::read(&submission.fields, &body),
            directives,
            webhook_url: text("webhook_url"),
            webhook_secret,
            shown: kept(body),
        }
    }
}

fn format(fields: &Fields, body: &Value) -> Format {
    let named = fields.value(body, "output_format").and_then(Value::as_str);
    named.and_then(Format::named).unwrap_or(Format::Jpeg)
}

/// An integer in any JSON notation: `7` and `7.0` are the same.
fn integer(value: &Value) -> Option<i128> {
    let float =
        || value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i128);
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)).or_else(float)
}

fn redact(secret_fields: &BTreeSet<String>, body: &mut Value) {
    for (name, value) in body.as_object_mut().into_iter().flatten() {
        if secret_fields.contains(name) && !value.is_null() {
            *value = "[redacted]".into();
        }
    }
}

/// The texts of the request: its body without images and secrets.
fn texts(body: &Value, secret_fields: &BTreeSet<String>, inputs: &[Input]) -> Value {
    let mut texts = body.clone();
    for (_, value) in texts
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter(|(name, _)| secret_fields.contains(*name))
    {
        *value = Value::Null;
    }
    let summaries = inputs.iter().map(|input| input.image.summary()).collect();
    remove_images(&mut texts, &summaries);
    texts
}

fn remove_images(value: &mut Value, summaries: &BTreeSet<String>) {
    match value {
        Value::String(text) if summaries.contains(text) => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(|item| remove_images(item, summaries)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| remove_images(field, summaries))
        }
        _ => {}
    }
}

fn kept(mut body: Value) -> LoggedRequest {
    if let Some(address) = body.get_mut("webhook_url").filter(|address| address.is_string()) {
        *address = webhooks::shown(address.as_str().unwrap_or_default()).into();
    }
    let prompt = body.get("prompt").and_then(Value::as_str).unwrap_or_default();
    let json = body.to_string();
    if json.len() > MAX_KEPT_BYTES {
        let note = format!("[a request of {} bytes without its images, not kept]", json.len());
        LoggedRequest { json: Value::from(note).to_string().into(), prompt: Box::default() }
    } else {
        LoggedRequest { prompt: prompt.into(), json: json.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_are_read_in_every_notation() {
        assert_eq!(integer(&json!(7)), Some(7));
        assert_eq!(integer(&json!(7.0)), Some(7));
        assert_eq!(integer(&json!(-7)), Some(-7));
        assert_eq!(integer(&json!(u64::MAX)), Some(i128::from(u64::MAX)));
        assert_eq!(integer(&json!(1e300)), Some(i128::MAX));
        assert_eq!(integer(&json!(7.5)), None);
        assert_eq!(integer(&json!(null)), None);
    }

    #[test]
    fn secrets_are_redacted_and_huge_requests_not_kept() {
        let secrets = BTreeSet::from(["webhook_secret".to_owned()]);
        let mut body = json!({ "webhook_secret": "s3cret", "prompt": "x" });
        redact(&secrets, &mut body);
        assert_eq!(body, json!({ "webhook_secret": "[redacted]", "prompt": "x" }));
        let huge = kept(json!({ "prompt": "x".repeat(MAX_KEPT_BYTES) }));
        assert!(huge.body().as_str().is_some_and(|text| text.starts_with("[a request of")));
    }
}
