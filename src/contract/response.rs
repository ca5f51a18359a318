//! Converts responses to their contract types, and reports what the contract does not define in
//! them, in one event for each response with something new.

use std::{collections::HashSet, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tracing::{Level, field};

use crate::{
    Extra, TaskStatus,
    values::{MAX_NAME, Mutex, REDACTED, one_line},
};

/// A response type, or the type of an object in a response. The generator implements it, so that
/// each field is read by itself.
pub(crate) trait ReadResponse: Sized {
    /// Returns `None` if the value has a different type or a required member is missing. Adds what
    /// the contract does not define to `unexpected`.
    fn read(value: Value, unexpected: &mut Unexpected) -> Option<Self>;
}

/// Reads a response, and returns what the contract does not define in it.
pub(crate) fn read_response<T: ReadResponse>(value: Value) -> (Option<T>, Unexpected) {
    let mut unexpected = Unexpected::default();
    let response = T::read(value, &mut unexpected);
    (response, unexpected)
}

/// The members of an object that no field has taken yet.
pub(crate) struct ResponseFields<'a> {
    members: Map<String, Value>,
    /// The members that a field could not take, because their values have unexpected types.
    mistyped: Vec<String>,
    unexpected: &'a mut Unexpected,
}

impl<'a> ResponseFields<'a> {
    pub(crate) fn of(value: Value, unexpected: &'a mut Unexpected) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        Some(Self { members, mistyped: Vec::new(), unexpected })
    }

    /// Takes the member `name`. If its value does not have the type, it stays for
    /// [`rest`](Self::rest).
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value, _| T::deserialize(value).ok())
    }

    /// As [`take`](Self::take), for an object whose fields are read one by one.
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
        // `null` is the same as a missing member.
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
        // Without a listener, nothing reports the names.
        if tracing::enabled!(Level::WARN) {
            let unlisted = self.members.keys().filter(|name| !self.mistyped.contains(name));
            unlisted.for_each(|name| self.unexpected.unlisted(name));
        }
        std::mem::take(&mut self.members).into()
    }
}

/// The maximum number of names to collect of each kind.
const MOST_NAMES: usize = 20;

/// Names in a response, but no values. A member of a nested object is `OUTER.INNER`.
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

    /// Adds what was found elsewhere in the same object.
    pub(crate) fn add(&mut self, other: Self) {
        self.unlisted.extend(other.unlisted);
        self.mistyped.extend(other.mistyped);
        self.more += other.more;
    }

    /// Returns what was found in the member `name`, as paths from the object around it.
    pub(crate) fn within(mut self, name: &str) -> Self {
        let mistyped = self.mistyped.iter_mut().map(|(path, _)| path);
        for path in self.unlisted.iter_mut().chain(mistyped) {
            *path = format!("{name}.{path}");
        }
        self
    }
}

/// Returns a name in one line. A name that contains a URL is not printed, because its query may be
/// secret.
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

/// The maximum number of findings that a client remembers. It reports no others after that.
const REMEMBERED: usize = 1000;

/// The maximum number of events in each period.
const MOST_EVENTS: u32 = 5;
const PERIOD: Duration = Duration::from_secs(60);

/// The name of the response itself in a list of names.
const WHOLE_RESPONSE: &str = "the whole response";

/// What a response contains and the contract does not define.
#[derive(Debug, Default)]
pub(crate) struct Findings<'a> {
    /// The name of the operation of the task, if known.
    pub(crate) operation: Option<&'a str>,
    /// The name of the type of the response.
    pub(crate) response: &'static str,
    pub(crate) unexpected: Unexpected,
    /// A status that the contract does not list.
    pub(crate) status: Option<&'a TaskStatus>,
    /// Whether the response has that status and a picture, which the contract excludes.
    pub(crate) has_picture: bool,
}

/// What a client has reported so far.
#[derive(Default)]
pub(crate) struct Drift(Mutex<Reported>);

#[derive(Default)]
struct Reported {
    findings: HashSet<String>,
    period: Option<Instant>,
    events: u32,
}

impl Drift {
    /// Reports the findings that are new. If the client has reported too much lately, it does not
    /// remember them, and a later response reports them.
    pub(crate) fn report(&self, mut findings: Findings<'_>) {
        // The contract does not list the statuses of tasks in progress, so one of them is only
        // worth a note.
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
    /// Adds that the JSON of the response is not an object, if it is not.
    pub(crate) fn with_type_of(mut self, document: Option<&Value>) -> Self {
        if let Some(document) = document
            && !document.is_object()
        {
            self.unexpected.mistyped(WHOLE_RESPONSE, document);
        }
        self
    }

    /// Removes what was reported before. Returns the rest as texts of bounded length.
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
