//! The faults that a request asks for, in its header or in words in its texts.

use std::collections::VecDeque;

use axum::http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::debug;

use super::{
    grammar::{FaultSource, FaultSpec},
    table::FaultPlace,
};
use crate::{contract::key_header, values::texts};

/// The header that requests faults.
const HEADER: &str = "x-simulator-fault";

/// The maximum number of faults that a request can ask for.
const MAX_FAULTS: usize = 16;

/// A word that looks like a fault, but selects the status of the task.
const STATUS_WORD: &str = "unknown-status";

/// The faults that a request asks for. Those of a submission include the faults of its task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedFaults {
    pub(super) list: Vec<FaultSpec>,
    /// The identity of the submission, by which a repetition is recognized. `None` if no fault
    /// applies to the submission itself.
    #[serde(skip)]
    pub(super) repeat: Option<Identity>,
}

/// A digest of a submission.
pub(super) type Identity = [u8; 32];

impl RequestedFaults {
    /// Reads the faults in the header of a request at `place`, or returns what is wrong with the
    /// header.
    pub(crate) fn in_header(headers: &HeaderMap, place: FaultPlace) -> Result<Self, String> {
        let source = match place {
            FaultPlace::Submission => FaultSource::Submission,
            place => FaultSource::Request(place),
        };
        let mut list = Vec::new();
        for value in headers.get_all(HEADER) {
            let text = value.to_str().map_err(|_| invalid_header("it is not visible ASCII"))?;
            for text in text.split(',').map(str::trim) {
                list.push(FaultSpec::parse(text, source).map_err(invalid_header)?);
                if list.len() > MAX_FAULTS {
                    return Err(invalid_header(format!("more than {MAX_FAULTS} faults")));
                }
            }
        }
        Ok(Self { list, repeat: None })
    }

    /// Reads the faults in the words of a submission's texts, at any depth. Other words in double
    /// brackets request no fault.
    pub(crate) fn in_words(request: &Value) -> Self {
        let mut list = Vec::new();
        texts::any(request, &mut |text| {
            let words = text.split("[[").skip(1).filter_map(|part| Some(part.split_once("]]")?.0));
            for word in words.filter(|word| *word != STATUS_WORD) {
                match FaultSpec::parse(word, FaultSource::Submission) {
                    Ok(spec) => list.push(spec),
                    Err(error) => {
                        debug!(problem = error.problem, "ignored a word in double brackets");
                    }
                }
                if list.len() == MAX_FAULTS {
                    return true;
                }
            }
            false
        });
        Self { list, repeat: None }
    }

    /// Adds the faults of the header, before those of the words, and computes the identity of the
    /// submission.
    pub(crate) fn join(
        &mut self,
        mut header: Self,
        operation: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) {
        header.list.append(&mut self.list);
        self.list = header.list;
        if self.list.iter().any(|spec| spec.places.contains(&FaultPlace::Submission)) {
            let mut hash = Sha256::new();
            let headers = [key_header(), HEADER].into_iter().flat_map(|name| headers.get_all(name));
            for part in [operation.as_bytes()].into_iter().chain(headers.map(HeaderValue::as_bytes))
            {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
            hash.update(body);
            self.repeat = Some(hash.finalize().into());
        }
    }
}

/// The maximum number of submissions to remember. Above it, the oldest is dropped.
const MAX_REPEATS: usize = 1024;

/// How often each fault of a submission has been applied, so that a client that repeats the
/// submission eventually succeeds. The submissions are in the order of their first attempts.
#[derive(Clone, Default)]
pub(super) struct Repeats(VecDeque<(Identity, Vec<u64>)>);

impl Repeats {
    pub(super) fn recall(&self, repeat: &Identity, requested: &mut [FaultSpec]) {
        let known = self.0.iter().find(|(known, _)| known == repeat);
        let known = known.into_iter().flat_map(|(_, applied)| applied);
        for (spec, applied) in requested.iter_mut().zip(known) {
            spec.applied = *applied;
        }
    }

    pub(super) fn keep(&mut self, repeat: Identity, requested: &[FaultSpec]) {
        let applied = requested.iter().map(|spec| spec.applied).collect();
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == repeat) {
            *known = applied;
            return;
        }
        self.0.push_back((repeat, applied));
        if self.0.len() > MAX_REPEATS {
            self.0.pop_front();
        }
    }
}

fn invalid_header(problem: impl ToString) -> String {
    format!("Invalid {HEADER} header: {}", problem.to_string())
}
