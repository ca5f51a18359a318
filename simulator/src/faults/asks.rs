//! What a request asks for: by a header, and by words in its texts.

use axum::http::{HeaderMap, HeaderValue};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::debug;

use super::ask::{Ask, Asker};
use super::fault::FaultPlace;
use crate::answer::Refusal;

/// The header that asks for faults.
const HEADER: &str = "x-simulator-fault";

/// A request asks for no more faults than this.
const MAX_ASKS: usize = 16;

/// A word that has its own meaning since before there were faults: it is told as long as the task
/// is in progress.
const NO_FAULT: &str = "unknown-status";

/// The faults that a request asks for; for a submission, those of its task too.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asks {
    pub(super) list: Vec<Ask>,
    /// By what a repeated submission is known, where it matters.
    pub(super) repeat: Option<[u8; 32]>,
}

impl Asks {
    /// What the header of a request at `place` asks for.
    pub(crate) fn in_header(headers: &HeaderMap, place: FaultPlace) -> Result<Self, Refusal> {
        let asker = match place {
            FaultPlace::Submission => Asker::Submission,
            place => Asker::Request(place),
        };
        let mut list = Vec::new();
        for value in headers.get_all(HEADER) {
            let text = value.to_str().map_err(|_| refused("it is not plain text"))?;
            for text in text.split(',').map(str::trim) {
                list.push(Ask::parse(text, asker).map_err(refused)?);
                if list.len() > MAX_ASKS {
                    return Err(refused(format!("it asks for more than {MAX_ASKS} faults")));
                }
            }
        }
        Ok(Self { list, repeat: None })
    }

    /// What the words in a submission's texts ask for, at any depth. What asks for no fault is
    /// ordinary text.
    pub(crate) fn in_words(request: &Value) -> Self {
        let mut list = Vec::new();
        find_words(request, &mut |word| {
            if word == NO_FAULT || list.len() == MAX_ASKS {
                return;
            }
            match Ask::parse(word, Asker::Submission) {
                Ok(ask) => list.push(ask),
                Err(error) => {
                    debug!(problem = error.problem, "a word in brackets asks for no fault")
                }
            }
        });
        Self { list, repeat: None }
    }

    /// Puts what the header of the submission `body` by `key` asks for before what its words do.
    pub(crate) fn join(
        &mut self,
        mut header: Self,
        operation: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) {
        header.list.append(&mut self.list);
        self.list = header.list;
        if self.list.iter().any(|ask| ask.places.contains(&FaultPlace::Submission)) {
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

fn refused(problem: impl ToString) -> Refusal {
    Refusal::Malformed(format!("The header {HEADER} is not understood: {}", problem.to_string()))
}

fn find_words(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => {
            for part in text.split("[[").skip(1) {
                if let Some((word, _)) = part.split_once("]]") {
                    found(word);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find_words(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| find_words(field, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_found_at_any_depth_and_others_are_text() {
        let request = json!({
            "a": ["[[html:2x]] and [[reset]]", { "b": "[[empty@poll]] [[no-fault]] [[html" }],
            "c": "[[unknown-status]] [[unknown-status@poll]] [[error]] [[ html ]]",
        });
        let texts: Vec<_> = Asks::in_words(&request).list.into_iter().map(|ask| ask.text).collect();
        assert_eq!(texts, ["html:2x", "reset", "unknown-status@poll"]);
        let many = json!("[[html]]".repeat(1000));
        assert_eq!(Asks::in_words(&many).list.len(), MAX_ASKS);
    }
}
