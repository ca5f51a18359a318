//! The functions of this module that the fuzz targets call.

use serde_json::Value;

pub use super::requested::FaultSource as Source;
use super::{FaultError, FaultPlace, RequestedFaults, requested::FaultSpec};

/// A fault as the parser understood its text.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadFault {
    /// The name of the fault.
    pub name: &'static str,
    /// What the fault does, and how often.
    pub effect: String,
    /// Where the fault applies.
    pub places: &'static [FaultPlace],
}

/// Reads the notation of a fault.
pub fn read(text: &str, source: Source) -> Result<ReadFault, FaultError> {
    let FaultSpec { known, effect, places, often, .. } = FaultSpec::parse(text, source)?;
    Ok(ReadFault { name: known.name, effect: format!("{effect:?} {often:?}"), places })
}

/// The texts of the faults that the words in a request ask for.
pub fn words(request: &Value) -> Vec<String> {
    RequestedFaults::in_words(request).list.into_iter().map(|spec| spec.text).collect()
}
