//! The validation of a request, which takes long: it parses JSON and decodes images.

use std::{collections::BTreeSet, sync::Arc};

use axum::{body::Bytes, http::HeaderMap};
use serde_json::Value;

use super::Call;
use crate::{
    contract::Violation,
    endpoints::rejection::Rejection,
    faults::RequestedFaults,
    media::{images::Input, paint::Format, video},
    request::{
        fetch::{Fetched, Fetcher},
        film::Material,
        parsed::ParsedRequest,
        size,
        training::Trains,
        validation,
    },
    state::AppState,
    tasks::logged_request::LoggedRequest,
};

/// A valid request.
pub(super) struct ValidRequest {
    pub(super) parsed: ParsedRequest,
    pub(super) inputs: Vec<Input>,
    pub(super) size: (u32, u32),
    pub(super) trains: Trains,
    /// When a video shows each input, in seconds.
    pub(super) moments: Vec<Option<f32>>,
}

/// A request that was examined.
enum Examined {
    Valid(Box<ValidRequest>),
    /// These images must be fetched first.
    Fetch(Arc<Fetcher>, BTreeSet<String>),
}

/// A request that violates the contract.
pub(super) struct Refused {
    pub(super) violations: Vec<Violation>,
    /// The body for the journal, without images and secrets. Empty if it is not JSON.
    pub(super) request: String,
}

/// A request as it arrived.
#[derive(Clone)]
pub(super) struct RawRequest {
    pub(super) call: Call,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The faults that the header requests.
    pub(super) faults: RequestedFaults,
}

/// Validates a request, and fetches the images that it gives by their URLs.
pub(super) async fn examine(
    state: &Arc<AppState>,
    request: RawRequest,
) -> Result<Result<ValidRequest, Refused>, Rejection> {
    let examine = |fetched: Fetched| {
        let (request, endpoint_state) = (request.clone(), Arc::clone(state));
        state.readers.run(move || examine_with(&endpoint_state, &request, &fetched))
    };
    let mut examined = examine(Fetched::new()).await;
    if let Ok(Ok(Examined::Fetch(fetcher, urls))) = examined {
        examined = examine(fetcher.fetch(urls).await).await;
    }
    match examined.map_err(|_| Rejection::Internal)? {
        Ok(Examined::Valid(valid)) => Ok(Ok(*valid)),
        Ok(Examined::Fetch(..)) => Err(Rejection::Internal),
        Err(violations) => {
            let (contract, body) = (Arc::clone(&state.contract), request.body);
            let logged = move || LoggedRequest::of_refused(&body, &contract.secret_fields);
            let logged = state.readers.run(logged).await.map_err(|_| Rejection::Internal)?;
            let request = logged.map(|request| request.json().to_owned()).unwrap_or_default();
            Ok(Err(Refused { violations, request }))
        }
    }
}

/// The slow part: parsing, validation, decoding of images.
fn examine_with(
    state: &AppState,
    request: &RawRequest,
    fetched: &Fetched,
) -> Result<Examined, Vec<Violation>> {
    let RawRequest { call, headers, body, faults } = request;
    let submission = &call.submission;
    let operation = (call.operation_id.as_str(), &**submission);
    let mut checked = validation::check(&state.config, operation, body, fetched)?;
    if let Some(fetcher) = state.fetcher.as_ref().filter(|_| !checked.addresses.is_empty()) {
        return Ok(Examined::Fetch(Arc::clone(fetcher), checked.addresses));
    }
    check_finetune(state, call, &checked.body)?;
    let trains = Trains::read(&call.operation, &checked.body, |name| {
        state.records().accounts.has_finetune(&call.project, name)
    })?;
    let material = video::is_made_by(&call.operation)
        .then(|| Material::read(&mut checked, state.config.max_input_pixels))
        .transpose()?;
    let size = size::of_request(
        &state.config,
        &call.operation,
        &submission.fields,
        &checked.body,
        &checked.inputs,
    )?;
    let video = material
        .map(|material| material.times(&checked.body, &checked.inputs, size))
        .transpose()?;
    let (operation, secrets) = ((&*call.operation, &**submission), &state.contract.secret_fields);
    let mut parsed = ParsedRequest::read(&state.config, operation, secrets, &mut checked);
    let mut moments = Vec::new();
    if let Some((spec, times)) = video {
        parsed.format = Format::Video(spec);
        moments = times;
    }
    parsed.directives.faults.join(faults.clone(), &call.operation, headers, body);
    let valid = ValidRequest { parsed, inputs: checked.inputs, size, trains, moments };
    Ok(Examined::Valid(Box::new(valid)))
}

/// Rejects a finetune that the project may not use.
fn check_finetune(state: &AppState, call: &Call, body: &Value) -> Result<(), Vec<Violation>> {
    let named = body
        .get("finetune_id")
        .and_then(Value::as_str)
        .filter(|_| call.operation.ends_with("-finetuned"));
    let unix = state.clock.unix_now();
    if named.is_none_or(|id| state.records().accounts.knows_finetune(&call.project, id, unix)) {
        return Ok(());
    }
    let problem = "the project has no finetune of this name";
    Err(vec![Violation::value(vec!["body".into(), "finetune_id".into()], problem)])
}
