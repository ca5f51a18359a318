//! The values of options that select jobs.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::{args::model::model_names, models};
use imagekiln_batch::{Filter, JobState, Ledger};

/// Reads one of these states.
pub fn state(of: &'static [JobState]) -> impl TypedValueParser<Value = JobState> {
    let names = PossibleValuesParser::new(of.iter().map(|state| state.as_str()));
    names.try_map(|name| {
        let found = JobState::ALL.into_iter().find(|state| state.as_str() == name);
        found.ok_or("it is not a state")
    })
}

/// Reads a model. The value is the name that the ledger has for it.
pub fn model() -> impl TypedValueParser<Value = String> {
    model_names(models::models()).map(|name| match models::find(&name) {
        Some(model) => model.name.to_owned(),
        None => name,
    })
}

/// The given names, or those of all jobs in the given states.
pub async fn names(
    ledger: &Ledger,
    given: Vec<String>,
    states: Vec<JobState>,
) -> Result<Vec<String>, imagekiln_batch::Error> {
    if !given.is_empty() {
        return Ok(given);
    }
    let jobs = ledger.list(&Filter::all().states(states), 0, usize::MAX).await?;
    Ok(jobs.into_iter().map(|job| job.name).collect())
}
