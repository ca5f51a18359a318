//! What an accepted request asks for, read from its validated body.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{validation::Checked, words};
use crate::{
    config::{Config, OutputFormat},
    contract::{Fields, Submission, integer},
    media::{
        images::Input,
        paint::{Format, Settings},
    },
    tasks::{
        logged_request::{LoggedRequest, redact},
        outcome::{Directives, Outcome},
    },
    values::{pattern, secret::Secret, texts},
};

/// The parts of a request that the simulator uses.
pub(crate) struct ParsedRequest {
    pub(crate) prompt: String,
    pub(crate) seed: Option<i128>,
    pub(crate) format: Format,
    pub(crate) settings: Settings,
    pub(crate) directives: Directives,
    pub(crate) webhook_url: Option<String>,
    pub(crate) webhook_secret: Option<Secret<String>>,
    pub(crate) shown: LoggedRequest,
    /// The names of the fields without an effect.
    pub(crate) ignored: Vec<String>,
}

impl ParsedRequest {
    /// Reads a body and leaves `null` in its place.
    pub(crate) fn read(
        config: &Config,
        (operation, submission): (&str, &Submission),
        secret_fields: &BTreeSet<String>,
        checked: &mut Checked,
    ) -> Self {
        let mut body = checked.body.take();
        let ignored = std::mem::take(&mut checked.ignored);
        let mut unlisted = Value::Object(ignored.values);
        let webhook_secret = body.get("webhook_secret").and_then(Value::as_str).map(Secret::from);
        redact(secret_fields, &mut body);
        redact(secret_fields, &mut unlisted);
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let texts = texts(&body, secret_fields, &checked.inputs);
        // In any field: operations without a prompt have no other place for them.
        let mut directives = words::directives(&json!([texts, unlisted]));
        if directives.outcome == Outcome::Ready {
            let tolerance = submission.fields.value(&body, "safety_tolerance");
            config.moderation.check(&texts, tolerance, &mut directives);
        }
        Self {
            prompt: text("prompt").unwrap_or_default(),
            seed: body.get("seed").and_then(integer::read),
            format: format(config, operation, &submission.fields, &body),
            settings: Settings::read(&submission.fields, &body),
            directives,
            webhook_url: text("webhook_url"),
            webhook_secret,
            shown: LoggedRequest::new(body, unlisted),
            ignored: ignored.names,
        }
    }
}

/// The requested format, or else the configured one, or else the contract's default.
fn format(config: &Config, operation: &str, fields: &Fields, body: &Value) -> Format {
    let configured = || match pattern::best(&config.output_format_of, operation)? {
        OutputFormat::Jpeg => Some(Format::Jpeg),
        OutputFormat::Png => Some(Format::Png),
        OutputFormat::Webp => Some(Format::Webp),
    };
    let named = |value: Option<&Value>| Format::named(value?.as_str()?);
    named(body.get("output_format"))
        .or_else(configured)
        .or_else(|| named(fields.value(body, "output_format")))
        .unwrap_or(Format::Jpeg)
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
    let summaries: BTreeSet<_> = inputs.iter().map(|input| input.image.summary()).collect();
    texts::replace(&mut texts, &|text| summaries.contains(text).then_some(Value::Null));
    texts
}
