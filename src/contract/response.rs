//! Converts responses to the types of the contract. If a response contains something that the
//! contract does not define and that the client has not reported before, the client logs one event
//! for this response.

use std::{collections::HashSet, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tracing::{Level, field};

use crate::{
    Extra, TaskStatus,
    values::{MAX_NAME, Mutex, REDACTED, one_line},
};

/// A response type, or the type of an object in a response. The generated implementations read each
/// field separately, so a field with an unexpected type does not affect the others.
pub(crate) trait ReadResponse: Sized {
    /// Reads the value. Returns `None` if the value is not an object, or if a required member is
    /// missing or has an unexpected type. Adds what the contract does not define to `unexpected`.
    fn read(value: Value, unexpected: &mut Unexpected) -> Option<Self>;
}

/// Reads a response. Also returns what it contains that the contract does not define.
pub(crate) fn read_response<T: ReadResponse>(value: Value) -> (Option<T>, Unexpected) {
    let mut unexpected = Unexpected::default();
    let response = T::read(value, &mut unexpected);
    (response, unexpected)
}

/// The members of a JSON object that the reader of its type has not taken yet.
pub(crate) struct ResponseFields<'a> {
    members: Map<String, Value>,
    /// The names of members that the reader could not take, because their values have unexpected
    /// types.
    mistyped: Vec<String>,
    unexpected: &'a mut Unexpected,
}

impl<'a> ResponseFields<'a> {
    pub(crate) fn of(value: Value, unexpected: &'a mut Unexpected) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        Some(Self { members, mistyped: Vec::new(), unexpected })
    }

    /// Takes the member `name`. If its value does not have the type `T`, the member stays, and
    /// [`rest`](Self::rest) returns it.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value, _| T::deserialize(value).ok())
    }

    /// Takes a member like [`take`](Self::take), if its value is an object with a reader of its
    /// own.
    pub(crate) fn take_object<T: ReadResponse>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value, unexpected| {
            let (object, inner) = read_response(value.clone());
            unexpected.add(inner.within(name));
            object
        })
    }

    fn take_if<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Value, &mut Unexpected) -> Option<T>,
    ) -> Option<T> {
        let value = self.members.get(name)?;
        // A member with the value `null` counts as missing.
        let taken = if value.is_null() { None } else { read(value, self.unexpected) };
        if taken.is_some() || value.is_null() {
            self.members.remove(name);
        } else {
            self.unexpected.mistyped(name, value);
            self.mistyped.push(name.to_owned());
        }
        taken
    }

    /// Takes the remaining members.
    pub(crate) fn rest(&mut self) -> Extra {
        // Collect the names only if a subscriber listens to warnings, because nothing else uses
        // them.
        if tracing::enabled!(Level::WARN) {
            let unlisted = self.members.keys().filter(|name| !self.mistyped.contains(name));
            unlisted.for_each(|name| self.unexpected.unlisted(name));
        }
        std::mem::take(&mut self.members).into()
    }
}

/// The maximum number of names to collect of each kind.
const MOST_NAMES: usize = 20;

/// What a response contains that the contract does not define: the names of members, but not their
/// values. A member of a nested object has the name `OUTER.INNER`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Unexpected {
    /// The members that the contract does not list.
    unlisted: Vec<String>,
    /// The members whose value has an unexpected type, with the JSON type of the value.
    mistyped: Vec<(String, &'static str)>,
    /// The number of further names that were not collected.
    more: usize,
}

impl Unexpected {
    fn is_empty(&self) -> bool {
        self.unlisted.is_empty() && self.mistyped.is_empty()
    }

    /// Adds a member that the contract does not list.
    pub(crate) fn unlisted(&mut self, name: &str) {
        if self.unlisted.len() < MOST_NAMES {
            self.unlisted.push(printable(name))
        } else {
            self.more += 1
        }
    }

    /// Adds a member whose value has an unexpected type.
    pub(crate) fn mistyped(&mut self, name: &str, value: &Value) {
        if self.mistyped.len() < MOST_NAMES {
            self.mistyped.push((printable(name), json_type(value)))
        } else {
            self.more += 1
        }
    }

    /// Adds what was found in another part of the same object.
    pub(crate) fn add(&mut self, other: Self) {
        self.unlisted.extend(other.unlisted);
        self.mistyped.extend(other.mistyped);
        self.more += other.more;
    }

    /// Prefixes all names with `name`, the member whose value contains them.
    pub(crate) fn within(mut self, name: &str) -> Self {
        let mistyped = self.mistyped.iter_mut().map(|(path, _)| path);
        for path in self.unlisted.iter_mut().chain(mistyped) {
            *path = format!("{name}.{path}");
        }
        self
    }
}

/// Returns a name on one line. Redacts a name that contains a URL, because the query of the URL may
/// be secret.
fn printable(name: &str) -> String {
    if name.contains("://") { REDACTED.to_owned() } else { one_line(name, MAX_NAME) }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The maximum number of findings that a client remembers. After that, it reports no further
/// findings, because it could not tell which of them are new.
const REMEMBERED: usize = 1000;

/// The maximum number of events that a client logs in each period.
const MOST_EVENTS: u32 = 5;
const PERIOD: Duration = Duration::from_secs(60);

/// The name that stands for the response itself in a list of names.
const WHOLE_RESPONSE: &str = "the whole response";

/// What a response contains that the contract does not define, and where it was found.
#[derive(Debug, Default)]
pub(crate) struct Findings<'a> {
    /// The name of the operation of the task, if known.
    pub(crate) operation: Option<&'a str>,
    /// The name of the type of the response.
    pub(crate) response: &'static str,
    pub(crate) unexpected: Unexpected,
    /// A status that the contract does not list.
    pub(crate) status: Option<&'a TaskStatus>,
    /// Whether the response contains a picture although its status is not listed, which the
    /// contract excludes.
    pub(crate) has_picture: bool,
}

/// Remembers what a client has reported, so that it reports each finding only once.
#[derive(Default)]
pub(crate) struct Drift(Mutex<Reported>);

#[derive(Default)]
struct Reported {
    findings: HashSet<String>,
    period: Option<Instant>,
    events: u32,
}

impl Drift {
    /// Logs the findings that are new. If the client has already logged the maximum number of
    /// events in this period, it neither logs nor remembers the findings, so a later response can
    /// still report them.
    ///
    /// `document` is the response, if it is JSON. It is a finding if it is not an object.
    pub(crate) fn report(&self, mut findings: Findings<'_>, document: Option<&Value>) {
        if let Some(document) = document.filter(|document| !document.is_object()) {
            findings.unexpected.mistyped(WHOLE_RESPONSE, document);
        }
        // The contract does not list the statuses of tasks in progress, so such a status alone is
        // expected, and logged at a lower level.
        let is_note = findings.unexpected.is_empty() && !findings.has_picture;
        let is_enabled =
            if is_note { tracing::enabled!(Level::INFO) } else { tracing::enabled!(Level::WARN) };
        if (is_note && findings.status.is_none()) || !is_enabled {
            return;
        }
        let mut reported = self.0.lock();
        let new = findings.keep_new(&reported.findings);
        let count = reported.findings.len() + new.len();
        if new.is_empty() || count > REMEMBERED || !reported.may_report() {
            return;
        }
        reported.findings.extend(new);
        drop(reported);
        findings.emit();
    }
}

impl Reported {
    /// Counts an event. Returns `false` if the client has already logged the maximum number of
    /// events in this period.
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
    /// Removes the findings that were reported before. Returns the other ones as texts of bounded
    /// length, for the client to remember.
    fn keep_new(&mut self, reported: &HashSet<String>) -> Vec<String> {
        let mut new = Vec::new();
        let mut is_new = |kind: &str, name: &str| {
            let finding = format!("{} {kind} {name}", self.response);
            let is_new = !reported.contains(&finding);
            if is_new {
                new.push(finding);
            }
            is_new
        };
        self.unexpected.unlisted.retain(|name| is_new("unlisted", name));
        self.unexpected.mistyped.retain(|(name, found)| is_new(found, name));
        let kind = if self.has_picture { "status with a picture" } else { "status" };
        self.status = self.status.filter(|status| is_new(kind, &status.to_string()));
        new
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
