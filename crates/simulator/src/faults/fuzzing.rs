//! What the fuzz targets call of this module.

use serde_json::Value;

pub use super::grammar::FaultSource as Source;
use super::{FaultError, FaultPlace, RequestedFaults, grammar::FaultSpec};

/// A fault, without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadFault {
    /// The name of the fault.
    pub name: &'static str,
    /// What it does, and how often.
    pub effect: String,
    /// Where it applies.
    pub places: &'static [FaultPlace],
}

/// Reads the notation of a fault.
pub fn read(text: &str, source: Source) -> Result<ReadFault, FaultError> {
    let FaultSpec { known, effect, places, often, .. } = FaultSpec::parse(text, source)?;
    Ok(ReadFault { name: known.name, effect: format!("{effect:?} {often:?}"), places })
}

/// The faults in the texts of a request, as written.
pub fn words(request: &Value) -> Vec<String> {
    RequestedFaults::in_words(request).list.into_iter().map(|spec| spec.text).collect()
}
