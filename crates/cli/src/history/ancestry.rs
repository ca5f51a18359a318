//! Finds out which pictures a picture was made from. Pictures are recognized by their SHA-256
//! digests, so their files may have been renamed or moved since.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::{Entry, read};
use crate::process::Process;
use imagekiln::journal::State;

/// How many of the newest submissions are compared with images. Each is a file to read.
const NEWEST: usize = 10_000;

impl Entry {
    /// The SHA-256 digest of the picture, if it is saved.
    pub fn sha256(&self) -> Option<&str> {
        match self.record.state() {
            State::Saved { sha256, .. } => sha256.as_deref(),
            _ => None,
        }
    }
}

/// Returns, for each kept request, the numbers of the submissions whose pictures are its images.
pub fn sources<'r>(
    process: &Process,
    requests: impl IntoIterator<Item = Option<&'r Value>>,
) -> Vec<Vec<u64>> {
    let images: Vec<BTreeSet<&str>> = requests.into_iter().map(digests).collect();
    let mut unknown: BTreeSet<&str> = images.iter().flatten().copied().collect();
    let mut numbers = HashMap::new();
    // Without images, the history is not read.
    let read = (!unknown.is_empty()).then(|| read(process).ok()).flatten();
    for entry in read.into_iter().flatten().take(NEWEST).flatten() {
        if let Some(digest) = entry.sha256().and_then(|digest| unknown.take(digest)) {
            numbers.insert(digest, entry.number);
        }
        if unknown.is_empty() {
            break;
        }
    }
    let of_images = |images: BTreeSet<&str>| {
        let mut sources: Vec<u64> =
            images.iter().filter_map(|digest| numbers.get(digest).copied()).collect();
        sources.sort_unstable();
        sources
    };
    images.into_iter().map(of_images).collect()
}

/// The digests of the images of a kept request.
fn digests(request: Option<&Value>) -> BTreeSet<&str> {
    match request {
        Some(Value::Object(members)) => {
            let own = members.get("sha256").and_then(Value::as_str);
            own.into_iter().chain(members.values().flat_map(|value| digests(Some(value)))).collect()
        }
        Some(Value::Array(values)) => {
            values.iter().flat_map(|value| digests(Some(value))).collect()
        }
        _ => BTreeSet::new(),
    }
}
