//! The faults that a request asks for, in a header and in words in its texts.

use axum::http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::debug;

use super::{
    grammar::{FaultSource, FaultSpec},
    table::FaultPlace,
};
use crate::values::texts;

/// The header that requests faults.
const HEADER: &str = "x-simulator-fault";

/// The maximum number of faults in a request.
pub(super) const MAX_FAULTS: usize = 16;

/// A word that looks like a fault but selects a status.
const STATUS_WORD: &str = "unknown-status";

/// The faults that a request asks for; for a submission, also those of its task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedFaults {
    pub(super) list: Vec<FaultSpec>,
    /// Identifies a repeated submission, if it requests faults of submissions.
    #[serde(skip)]
    pub(super) repeat: Option<[u8; 32]>,
}

impl RequestedFaults {
    /// Whether a request can ask for so many: in its header, and in its words.
    pub(crate) fn is_possible(&self) -> bool {
        self.list.len() <= 2 * MAX_FAULTS
    }

    /// The faults in the header of a request at `place`, or what is wrong with the header.
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

    /// The faults in the words of a submission's texts, at any depth. Everything else in double
    /// brackets is ordinary text.
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

    /// Puts the faults of the header before those of the words, and computes the identity of the
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
            let headers = ["x-key", HEADER].into_iter().flat_map(|name| headers.get_all(name));
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

fn invalid_header(problem: impl ToString) -> String {
    format!("Invalid {HEADER} header: {}", problem.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_found_at_any_depth_and_others_ignored() {
        let request = json!({
            "a": ["[[html:2x]] and [[reset]]", { "b": "[[empty@poll]] [[no-fault]] [[html" }],
            "c": "[[unknown-status]] [[unknown-status@poll]] [[error]] [[ html ]]",
        });
        let texts: Vec<_> =
            RequestedFaults::in_words(&request).list.into_iter().map(|spec| spec.text).collect();
        assert_eq!(texts, ["html:2x", "reset", "unknown-status@poll"]);
        let many = json!("[[html]]".repeat(1000));
        assert_eq!(RequestedFaults::in_words(&many).list.len(), MAX_FAULTS);
    }
}
