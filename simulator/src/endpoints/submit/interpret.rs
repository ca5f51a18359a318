//! Reads what a validated body asks for.

use serde_json::Value;

use super::call::{Call, RawRequest, ValidRequest};
use crate::{
    contract::{OperationKind, Violation},
    media::paint::Format,
    request::{film::Material, parsed::ParsedRequest, size, training::Trains, validation::Checked},
    state::AppState,
    values::texts,
};

/// The maximum size of all texts of a request together, without images and videos.
const MAX_TEXT_BYTES: usize = 1 << 20;

pub(super) fn interpret(
    state: &AppState,
    request: &RawRequest,
    mut checked: Checked,
) -> Result<ValidRequest, Vec<Violation>> {
    let RawRequest { call, headers, body, faults } = request;
    let kind = call.submission.rules.kind;
    let material = (kind == OperationKind::Video)
        .then(|| Material::read(&mut checked, state.config.max_input_pixels))
        .transpose()?;
    check_texts(&checked)?;
    check_finetune(state, call, &checked.body)?;
    let trains = Trains::read(kind, &checked.body, |name| {
        state.records().accounts.has_finetune(&call.project, name)
    })?;
    let size = size::of_request(&state.config, &call.submission, &checked.body, &checked.inputs)?;
    let video = material
        .map(|material| material.times(&checked.body, &checked.inputs, size))
        .transpose()?;
    let operation = (&*call.operation, &*call.submission);
    let secrets = &state.contract.secret_fields;
    let mut parsed = ParsedRequest::read(&state.config, operation, secrets, &mut checked);
    let mut moments = Vec::new();
    if let Some((spec, times)) = video {
        parsed.format = Format::Video(spec);
        moments = times;
    }
    parsed.directives.faults.join(faults.clone(), &call.operation, headers, body);
    Ok(ValidRequest { parsed, inputs: checked.inputs, size, trains, moments })
}

/// Rejects texts that would take long to read for words and faults.
fn check_texts(checked: &Checked) -> Result<(), Vec<Violation>> {
    let mut left = MAX_TEXT_BYTES;
    let mut exceeds = |text: &str| match left.checked_sub(text.len()) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    };
    let ignored = &mut checked.ignored.values.values();
    if texts::any(&checked.body, &mut exceeds)
        || ignored.any(|value| texts::any(value, &mut exceeds))
    {
        let problem = format!("the texts of the request are longer than {MAX_TEXT_BYTES} bytes");
        return Err(vec![Violation::value(vec!["body".into()], problem)]);
    }
    Ok(())
}

/// Rejects a finetune that the project may not use.
fn check_finetune(state: &AppState, call: &Call, body: &Value) -> Result<(), Vec<Violation>> {
    let named = body
        .get("finetune_id")
        .and_then(Value::as_str)
        .filter(|_| call.submission.takes_finetune());
    let unix = state.clock.unix_now();
    if named.is_none_or(|id| state.records().accounts.knows_finetune(&call.project, id, unix)) {
        return Ok(());
    }
    let problem = "the project has no finetune of this name";
    Err(vec![Violation::value(vec!["body".into(), "finetune_id".into()], problem)])
}
