//! What the fuzz targets call of this module.

use serde_json::Value;

use super::{
    FaultError, FaultPlace, RequestedFaults,
    grammar::{FaultSource, FaultSpec},
};

/// Where a fault is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In a rule.
    Rule,
    /// In a submission.
    Submission,
    /// In a poll or a delivery.
    Request(FaultPlace),
}

/// A fault, without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadFault {
    /// The name of the fault.
    pub name: &'static str,
    /// What it does.
    pub effect: String,
    /// Where it applies.
    pub places: Vec<FaultPlace>,
    /// How often it applies.
    pub often: String,
}

/// Reads the notation of a fault.
pub fn read(text: &str, source: Source) -> Result<ReadFault, FaultError> {
    let source = match source {
        Source::Rule => FaultSource::Rule,
        Source::Submission => FaultSource::Submission,
        Source::Request(place) => FaultSource::Request(place),
    };
    let spec = FaultSpec::parse(text, source)?;
    Ok(ReadFault {
        name: spec.known.name,
        effect: format!("{:?}", spec.effect),
        places: spec.places.to_vec(),
        often: format!("{:?}", spec.often),
    })
}

/// The faults in the texts of a request, as written.
pub fn words(request: &Value) -> Vec<String> {
    RequestedFaults::in_words(request).list.into_iter().map(|spec| spec.text).collect()
}
