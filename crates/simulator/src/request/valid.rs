//! Reads what a valid request asks for.

use std::{collections::BTreeSet, time::Duration};

use imagekiln_painter::{
    images::Input,
    paint::{FinetuneTint, Format, Guidance, MAX_NAME, OperationKind, Picture, Settings},
};
use serde_json::{Value, json};

use super::{fields, validation::Checked};
use crate::{
    billing::accounts::{Accounts, ProjectRef, is_finetune_name},
    config::{Config, OutputFormat},
    contract::{self, Fields, Submission, Validated, Violation},
    faults::RequestedFaults,
    tasks::{
        logged_request::{LoggedRequest, REDACTED, redact},
        outcome::{Directives, Outcome},
    },
    values::{names, secret::Secret, texts},
};

/// What a valid request asks for.
pub(crate) struct ValidRequest {
    pub(crate) picture: Picture,
    /// Whether the request sets the seed of the picture.
    pub(crate) has_seed: bool,
    pub(crate) directives: Directives,
    /// The URL of the webhook, and its secret if there is one.
    pub(crate) webhook: Option<(String, Option<Secret<String>>)>,
    /// The name of the finetune that the request trains, if the request sets one.
    pub(crate) finetune_name: Option<String>,
    pub(crate) shown: LoggedRequest,
    /// The names of the fields that had no effect.
    pub(crate) ignored: Vec<String>,
}

impl ValidRequest {
    /// Reads a body. What it says about videos and finetunes is read elsewhere.
    pub(crate) fn read(
        config: &Config,
        (operation, submission): (&str, &Submission),
        secret_fields: &BTreeSet<String>,
        Checked { mut body, inputs, ignored, .. }: Checked,
        size: (u32, u32),
    ) -> Self {
        let ignored_names = fields::first_names(&ignored);
        let mut unlisted = Value::Object(ignored);
        let secret = body.get("webhook_secret").and_then(Value::as_str).map(Secret::from);
        redact(secret_fields, &mut body);
        redact(secret_fields, &mut unlisted);
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let texts = texts(&body, &inputs);
        // Search all fields, because operations without a prompt have no other place for the words.
        let mut directives = directives(&json!([texts, unlisted]));
        if directives.outcome == Outcome::Ready {
            let tolerance = submission.fields.value(&body, "safety_tolerance");
            if let Some((outcome, reason)) = config.moderation.check(&texts, tolerance) {
                (directives.outcome, directives.reason) = (outcome, Some(reason));
            }
        }
        let seed = body.get("seed").and_then(contract::integer);
        let picture = Picture {
            operation: operation.to_owned(),
            kind: submission.rules.kind,
            prompt: text("prompt").unwrap_or_default().into(),
            seed: seed.unwrap_or_default(),
            format: format(config, operation, &submission.fields, &body),
            settings: settings(&submission.fields, &body),
            size,
            inputs,
            moments: Vec::new(),
        };
        Self {
            picture,
            has_seed: seed.is_some(),
            directives,
            webhook: text("webhook_url").map(|url| (url, secret)),
            finetune_name: None,
            shown: LoggedRequest::new(body, unlisted),
            ignored: ignored_names,
        }
    }
}

/// The format of the picture: the requested one, or else the configured one, or else the contract's
/// default.
fn format(config: &Config, operation: &str, fields: &Fields, body: &Value) -> Format {
    let configured = || match names::best(&config.output_format_of, operation)? {
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

/// The strength of an image prompt if the operation has no field for it.
const IMAGE_PROMPT_STRENGTH: f32 = 0.5;

/// The neutral guidance, if the contract has no default.
const NEUTRAL_GUIDANCE: f32 = 3.0;

/// Reads a validated body. Open fields with a value of another type count as absent.
fn settings(fields: &Fields, body: &Value) -> Settings {
    let number = |name: &str| {
        let number = fields.value(body, name).and_then(Value::as_f64)? as f32;
        Some(number.clamp(f32::MIN, f32::MAX))
    };
    let text = |name: &str| {
        let text = fields.value(body, name).and_then(Value::as_str)?;
        Some(text.chars().take(MAX_NAME).collect::<String>())
    };
    let truth = |name: &str| fields.value(body, name).and_then(Value::as_bool).unwrap_or(false);
    let natural = |name: &str| {
        u32::try_from(contract::integer_field(body, name).unwrap_or(0).max(0)).unwrap_or(u32::MAX)
    };
    let guidance = |value: f32| {
        let default = fields.get("guidance").and_then(|field| field.default.as_ref()?.as_f64());
        Guidance { value, neutral: default.map_or(NEUTRAL_GUIDANCE, |number| number as f32) }
    };
    Settings {
        guidance: number("guidance").map(guidance),
        steps: number("steps").map(|steps| steps as u32),
        raw: truth("raw"),
        upsampled: truth("prompt_upsampling"),
        aspect_ratio: text("aspect_ratio"),
        image_prompt_strength: number("image_prompt_strength")
            .unwrap_or(IMAGE_PROMPT_STRENGTH)
            .clamp(0.0, 1.0),
        finetune: text("finetune_id").map(|name| FinetuneTint {
            name,
            strength: number("finetune_strength").unwrap_or(1.0).clamp(0.0, 2.0),
        }),
        added: (natural("left").into(), natural("top").into()),
        offset: (
            contract::integer_field(body, "reference_offset_x"),
            contract::integer_field(body, "reference_offset_y"),
        ),
        mode: text("mode"),
        dilation: natural("dilation"),
    }
}

/// The texts of the request, which are its redacted body without images and secrets.
fn texts(body: &Value, inputs: &[Input]) -> Value {
    let mut texts = body.clone();
    let summaries: BTreeSet<_> = inputs.iter().map(|input| input.image.summary()).collect();
    let is_none = |text: &str| text == REDACTED || summaries.contains(text);
    texts::replace(&mut texts, &|text| is_none(text).then_some(Value::Null));
    texts
}

/// The words that make a task fail.
const WORDS: [(&str, Outcome); 4] = [
    ("[[error]]", Outcome::Error),
    ("[[request-moderated]]", Outcome::RequestModerated),
    ("[[content-moderated]]", Outcome::ContentModerated),
    ("[[not-found]]", Outcome::NotFound),
];

/// The word that gives a task in progress a status that clients do not know.
const UNKNOWN_STATUS_WORD: &str = "[[unknown-status]]";

/// Reads what the words in the texts of a request select, at any depth. If several words make the
/// task fail, the first one in [`WORDS`] wins.
fn directives(request: &Value) -> Directives {
    let mentions = |word: &str| texts::any(request, &mut |text| text.contains(word));
    let found = WORDS.iter().find(|(word, _)| mentions(word));
    Directives {
        outcome: found.map_or(Outcome::Ready, |(_, outcome)| *outcome),
        reason: found.map(|(word, _)| format!("The request contains {word}.")),
        unknown_status: mentions(UNKNOWN_STATUS_WORD),
        faults: RequestedFaults::in_words(request),
    }
}

const FINETUNE: &str = "finetune_id";

/// The field with the name of a new finetune. The contract leaves the fields open, so the simulator
/// has chosen this one itself.
const NEW_FINETUNE: &str = "name";

/// Reads what a validated body says about finetunes. Fails if it uses a finetune that the project
/// may not use, or if it gives a new finetune a name that the organization already has. Returns the
/// name of the new finetune, if the request sets one.
pub(crate) fn finetune_name(
    accounts: &Accounts,
    (project, submission, body): (&ProjectRef, &Submission, &Value),
    unix: Duration,
) -> Validated<Option<String>> {
    let wrong = |name: &str, problem| Err(vec![Violation::value(["body", name], problem)]);
    let used = body.get(FINETUNE).and_then(Value::as_str).filter(|_| submission.takes_finetune());
    if used.is_some_and(|id| !accounts.knows_finetune(project, id, unix)) {
        return wrong(FINETUNE, "the project has no finetune of this name");
    }
    let trains = submission.rules.kind == OperationKind::Finetune;
    let Some(name) = body.get(NEW_FINETUNE).and_then(Value::as_str).filter(|_| trains) else {
        return Ok(None);
    };
    if !is_finetune_name(name) {
        return wrong(NEW_FINETUNE, "a finetune name must not be empty or contain a slash");
    }
    if accounts.has_finetune(project, name) {
        return wrong(NEW_FINETUNE, "the organization already has a finetune of this name");
    }
    Ok(Some(name.to_owned()))
}
