//! Reports what the service returns and the contract does not define, in one event for each
//! response with something new.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tracing::{Level, field};

use crate::{TaskStatus, contract::Unexpected, transport::response::Response};

/// The maximum number of findings that a client remembers. It reports no others after that.
const REMEMBERED: usize = 1000;

/// The maximum number of events in each period.
const MOST_EVENTS: u32 = 5;
const PERIOD: Duration = Duration::from_secs(60);

/// The name of the response itself in a list of names.
const WHOLE_RESPONSE: &str = "the whole response";

/// What a response contains and the contract does not define.
#[derive(Debug, Default)]
pub(super) struct Findings<'a> {
    /// The name of the operation of the task, if known.
    pub(super) operation: Option<&'a str>,
    /// The name of the type of the response.
    pub(super) response: &'static str,
    pub(super) unexpected: Unexpected,
    /// A status that the contract does not list.
    pub(super) status: Option<&'a TaskStatus>,
    /// Whether the response has that status and a picture, which the contract excludes.
    pub(super) has_picture: bool,
}

/// What a client has reported so far.
#[derive(Default)]
pub(crate) struct Drift {
    hasher: RandomState,
    state: Mutex<Reported>,
}

#[derive(Default)]
struct Reported {
    /// The hashes of the findings, which use the same memory for names of any length.
    reported: HashSet<u64>,
    period: Option<Instant>,
    events: u32,
}

impl Drift {
    /// Reports the findings that are new. If the client has reported too much lately, it does not
    /// remember them, and a later response reports them.
    pub(super) fn report(&self, mut findings: Findings<'_>) {
        // The contract does not list the statuses of tasks in progress, so one of them is only
        // worth a note.
        let is_note = findings.unexpected.is_empty() && !findings.has_picture;
        let is_enabled =
            if is_note { tracing::enabled!(Level::INFO) } else { tracing::enabled!(Level::WARN) };
        if (is_note && findings.status.is_none()) || !is_enabled {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let new = self.keep_new(&mut findings, &state.reported);
        if new.is_empty() || state.reported.len() + new.len() > REMEMBERED || !state.may_report() {
            return;
        }
        state.reported.extend(new);
        drop(state);
        findings.emit();
    }

    /// Removes what was reported before. Returns the hashes of the rest.
    fn keep_new(&self, findings: &mut Findings<'_>, reported: &HashSet<u64>) -> Vec<u64> {
        let mut new = Vec::new();
        let mut is_new = |kind: &str, name: &str, found: &str| {
            let hash = self.hasher.hash_one((findings.response, kind, name, found));
            let is_new = !reported.contains(&hash);
            if is_new {
                new.push(hash);
            }
            is_new
        };
        findings.unexpected.unlisted.retain(|name| is_new("unlisted", name, ""));
        findings.unexpected.mistyped.retain(|(name, found)| is_new("type", name, found));
        let kind = if findings.has_picture { "status with a picture" } else { "status" };
        findings.status = findings.status.filter(|status| is_new(kind, status.as_str(), ""));
        new
    }
}

impl Reported {
    /// Counts an event, unless there were too many in this period.
    fn may_report(&mut self) -> bool {
        let now = Instant::now();
        if self.period.is_none_or(|started| now.duration_since(started) >= PERIOD) {
            (self.period, self.events) = (Some(now), 0);
        }
        self.events += 1;
        self.events <= MOST_EVENTS
    }
}

impl Findings<'_> {
    /// Adds that the response is not an object, if it is not.
    pub(super) fn with_type_of(mut self, response: &Response) -> Self {
        if let Some(document) = &response.document
            && !document.is_object()
        {
            self.unexpected.mistyped(WHOLE_RESPONSE, document);
        }
        self
    }

    fn emit(self) {
        let Self { operation, response, unexpected, status, has_picture } = self;
        let Unexpected { unlisted, mistyped, more } = unexpected;
        let shown_status = status.map(field::display);
        if unlisted.is_empty() && mistyped.is_empty() && !has_picture {
            tracing::info!(
                operation,
                response,
                status = shown_status,
                "the contract does not list this task status; the client polls again"
            );
            return;
        }
        let types: Vec<_> =
            mistyped.iter().map(|(name, found)| format!("{name}: {found}")).collect();
        tracing::warn!(
            operation,
            response,
            unlisted = (!unlisted.is_empty()).then(|| field::debug(unlisted)),
            types = (!types.is_empty()).then(|| field::debug(types)),
            more = (more > 0).then_some(more),
            status = shown_status,
            "the service returned something that the contract does not define"
        );
    }
}
