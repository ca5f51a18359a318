//! Expected requests, for tests.

use std::{fmt, ops::RangeInclusive, panic::Location, sync::Arc, thread};

use serde_json::Value;

use crate::{
    journal::{self, RequestPattern},
    state::AppState,
};

/// A number of requests that a test expects, from [`Simulator::expect`](crate::Simulator::expect).
/// It is at least one, unless [`times`](Self::times) or [`at_least`](Self::at_least) changes it.
///
/// # Panics
///
/// Dropping it panics if the number differs, unless the thread is panicking already. The message
/// lists the requests that match, or else those that differ least, with what differs:
///
/// ```text
/// tests/fox.rs:12:9: expected 1 request `POST gen-2-pro?status=200`, but there were 0
///   1: POST /v1/gen-2-pro, 422 (body.prompt: Field required): another status
/// ```
#[must_use = "the requests are counted when it is dropped"]
pub struct Expectation {
    state: Arc<AppState>,
    /// The pattern as the caller wrote it.
    text: String,
    pattern: Result<RequestPattern, String>,
    wanted: RangeInclusive<usize>,
    /// The number of the last request that does not count.
    since: u64,
    caller: &'static Location<'static>,
}

impl Expectation {
    #[track_caller]
    pub(crate) fn new(state: &Arc<AppState>, text: &str) -> Self {
        Self {
            state: Arc::clone(state),
            text: text.to_owned(),
            pattern: RequestPattern::parse(text),
            wanted: 1..=usize::MAX,
            since: state.journal.written(),
            caller: Location::caller(),
        }
    }

    /// Expects exactly this number of requests. With 0, none may match.
    pub fn times(mut self, requests: usize) -> Self {
        self.wanted = requests..=requests;
        self
    }

    /// Expects this number of requests or more.
    pub fn at_least(mut self, requests: usize) -> Self {
        self.wanted = requests..=usize::MAX;
        self
    }

    /// Expects this part of the body: an object with some of its fields, at any depth. Lists must
    /// be equal item by item. A body of more than 8 KiB without its images does not match.
    pub fn request(mut self, part: Value) -> Self {
        if let Ok(pattern) = &mut self.pattern {
            pattern.request = Some(part);
        }
        self
    }

    /// What is wrong, if anything is.
    fn failure(&self) -> Option<String> {
        let Self { text, caller, .. } = self;
        let pattern = match &self.pattern {
            Ok(pattern) => pattern,
            Err(problem) => return Some(format!("{caller}: invalid pattern `{text}`: {problem}")),
        };
        let records = self.state.journal.oldest_first();
        let records = records.iter().filter(|record| record.number > self.since);
        let problem = journal::problem(pattern, Some(text), &self.wanted, records)?;
        Some(format!("{caller}: {problem}"))
    }
}

impl fmt::Debug for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expectation")
            .field("text", &self.text)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

impl Drop for Expectation {
    #[allow(clippy::panic, reason = "fails the test, as documented")]
    fn drop(&mut self) {
        if !thread::panicking()
            && let Some(failure) = self.failure()
        {
            panic!("{failure}");
        }
    }
}
