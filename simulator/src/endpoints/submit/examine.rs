//! The slow part of a submission: parses and validates the body, and decodes the images.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    call::{Call, RawRequest, ValidRequest},
    interpret::interpret,
};
use crate::{
    contract::Violation,
    endpoints::rejection::Rejection,
    media::images::Image,
    request::{
        fetch::Fetched,
        json,
        validation::{self, Checked},
    },
    runtime::workers::JobSize,
    state::AppState,
    tasks::logged_request::LoggedRequest,
};

/// A request that violates the contract.
pub(super) struct Refused {
    pub(super) violations: Vec<Violation>,
    /// The body for the journal, without images and secrets. Empty if it is not JSON.
    pub(super) request: String,
}

/// Validates a request, and fetches the images that it gives by their URLs.
pub(super) async fn examine(
    state: &Arc<AppState>,
    request: RawRequest,
) -> Result<Result<ValidRequest, Refused>, Rejection> {
    let examined = match validated(state, &request).await? {
        Err(violations) => Err(violations),
        Ok(checked) => {
            let job = {
                let (state, request) = (Arc::clone(state), request.clone());
                move || interpret(&state, &request, checked)
            };
            run(state, request.job_size(), job).await?
        }
    };
    match examined {
        Ok(valid) => Ok(Ok(valid)),
        Err(violations) => {
            let size = request.job_size();
            let (contract, body) = (Arc::clone(&state.contract), request.body);
            let logged = move || {
                let is_bounded = json::excess(&body).is_none();
                is_bounded
                    .then(|| LoggedRequest::of_refused(&body, &contract.secret_fields))
                    .flatten()
            };
            let logged = run(state, size, logged).await?;
            let request = logged.map(|request| request.json().to_owned()).unwrap_or_default();
            Ok(Err(Refused { violations, request }))
        }
    }
}

/// Validates the body and its images.
async fn validated(
    state: &Arc<AppState>,
    request: &RawRequest,
) -> Result<Result<Checked, Vec<Violation>>, Rejection> {
    let check = async |fetched: Fetched| {
        let (job_state, request) = (Arc::clone(state), request.clone());
        let size = request.job_size();
        let check = move || {
            let Call { submission, .. } = &request.call;
            validation::check(&job_state.config, submission, &request.body, &fetched)
        };
        run(state, size, check).await
    };
    let mut checked = check(Fetched::new()).await?;
    if let (Ok(Checked { addresses, violations, .. }), Some(fetcher)) =
        (&mut checked, &state.fetcher)
        && violations.is_empty()
        && !addresses.is_empty()
    {
        let addresses: BTreeSet<_> = std::mem::take(addresses);
        checked = check(Arc::clone(fetcher).fetch(addresses).await).await?;
    }
    let mut checked = match checked {
        Ok(checked) => checked,
        Err(violation) => return Ok(Err(vec![violation])),
    };
    decode_images(state, &mut checked).await?;
    let has_violations = !checked.violations.is_empty();
    Ok(if has_violations { Err(checked.violations) } else { Ok(checked) })
}

/// Decodes each image in its turn, so that a request with large images delays others little.
async fn decode_images(state: &AppState, checked: &mut Checked) -> Result<(), Rejection> {
    for (input, loc) in checked.inputs.iter().zip(&checked.locs) {
        let Image::Inline(image) = &input.image else { continue };
        let (size, image) = (JobSize::of_pixels(image.pixels()), image.clone());
        if let Err(problem) = run(state, size, move || image.check()).await? {
            checked.violations.push(Violation::value(loc.clone(), problem));
        }
    }
    Ok(())
}

async fn run<T: Send + 'static>(
    state: &AppState,
    size: JobSize,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Rejection> {
    state.readers.run(size, job).await.map_err(|_| Rejection::Internal)
}
