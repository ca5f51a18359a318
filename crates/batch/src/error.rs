//! The error type of this package.

use std::{error, fmt};

use imagekiln::{Billing, TaskRef};

use crate::Scope;

/// An error of a ledger or a batch.
///
/// `Display` says what failed and what to do. It does not include the
/// [source](error::Error::source), which is the cause. `Debug` prints the message and all causes,
/// like the `Debug` of [`imagekiln::Error`], for a `main` that returns the error.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn error::Error + Send + Sync>>,
    tasks: Vec<TaskRef>,
    billing_unknown: bool,
    limited: Option<Scope>,
}

/// The kind of an error, for programs to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file of the ledger is already open, in this process or in another one.
    Locked,
    /// There is no ledger at the path or the URL. Returned only by
    /// [`Ledger::open_read_only`](crate::Ledger::open_read_only).
    Missing,
    /// The ledger cannot be read or written, or the file is not a ledger.
    Ledger,
    /// A job is invalid, or conflicts with a job of the ledger. No job of the call was added.
    Job,
    /// A job is not in the state that a change expects. Nothing was changed.
    State,
    /// The lease of the worker expired, and another worker took over its jobs. Run the batch again
    /// to continue as a new worker.
    Lease,
    /// A job cannot be resolved as not paid yet, because its request may still be on its way to the
    /// service. Try again later; the message says when.
    Hold,
    /// A person or a program [paused](crate::Limits::pause) the submissions. Nothing was sent.
    Paused,
    /// The service accepts no submissions, or does not say whether it does: see
    /// [`Limits::outages`](crate::Limits::outages). Nothing was sent. If the service refused a
    /// submission, [`Error::client_error`] says why.
    Outage,
    /// A scope has as many active tasks as it [may have](crate::Limits::set_max_active). Nothing
    /// was sent.
    ActiveTasks,
    /// A scope has had as many submissions within a minute as its
    /// [rate](crate::Limits::set_rate). Nothing was sent.
    Rate,
    /// A [budget](crate::Limits::set_budget) does not allow the submission. Nothing was sent.
    Budget,
    /// The output directory or the bucket cannot be used. Paid jobs keep their state, and the next
    /// run saves them.
    File,
    /// Pictures may have been paid for that the ledger does not know: its file was copied, it has
    /// lost submissions, or another ledger has paid for pictures of the same output. Nothing was
    /// submitted, because pictures could be paid for twice, but the paid jobs of the ledger were
    /// continued. Call [`Ledger::adopt_output`](crate::Ledger::adopt_output) to continue with the
    /// pictures of the output, or [`Batch::pay_again`](crate::Batch::pay_again) to accept that some
    /// are paid for twice.
    Foreign,
    /// The ledger and the batch belong to different services, or one of them belongs to a
    /// simulator. Nothing was sent. Use a client of the ledger's service, or another ledger with
    /// another output.
    Elsewhere,
    /// The client failed. The source is an [`imagekiln::Error`].
    Client,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
            tasks: Vec::new(),
            billing_unknown: false,
            limited: None,
        }
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns a function that makes another error the source of an error with this message.
    pub(crate) fn because<E: Into<Box<dyn error::Error + Send + Sync>>>(
        kind: ErrorKind,
        message: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::new(kind, message).with_source(source)
    }

    /// Adds the scope whose limit does not allow a submission.
    pub(crate) fn with_limited(self, scope: Scope) -> Self {
        Self { limited: Some(scope), ..self }
    }

    /// Adds what a run could not record.
    pub(crate) fn with_unrecorded(mut self, tasks: Vec<TaskRef>, billing_unknown: bool) -> Self {
        self.tasks.extend(tasks);
        self.billing_unknown |= billing_unknown;
        self
    }

    /// Returns the message and the messages of the sources, for logs and for the reasons of jobs,
    /// which keep no sources. Leaves out a source that the message before it quotes.
    pub(crate) fn chain(&self) -> String {
        let (mut text, mut last) = (self.message.clone(), self.message.clone());
        for cause in self.causes() {
            let message = cause.to_string();
            if !last.contains(&message) {
                text = format!("{text}: {message}");
                last = message;
            }
        }
        text
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn error::Error + 'static)> {
        std::iter::successors(error::Error::source(self), |cause| cause.source())
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the scope of the limit that refused a submission, for the kinds
    /// [`Paused`](ErrorKind::Paused), [`ActiveTasks`](ErrorKind::ActiveTasks),
    /// [`Rate`](ErrorKind::Rate) and [`Budget`](ErrorKind::Budget).
    pub fn limited_scope(&self) -> Option<&Scope> {
        self.limited.as_ref()
    }

    /// Returns the error of the client, for the kinds [`Client`](ErrorKind::Client) and
    /// [`Outage`](ErrorKind::Outage).
    pub fn client_error(&self) -> Option<&imagekiln::Error> {
        self.source.as_ref()?.downcast_ref()
    }

    /// Returns the tasks that the service accepted and billed during the run and that the ledger
    /// could not record. An error of any kind can have such tasks.
    ///
    /// Keep these tasks: [`Client::task`](imagekiln::Client::task) resumes them, and
    /// [`Batch::resolve_with_task`](crate::Batch::resolve_with_task) records them for their jobs,
    /// which become [`Unknown`](crate::JobState::Unknown).
    pub fn tasks(&self) -> &[TaskRef] {
        &self.tasks
    }

    /// Returns `true` if the service billed, or may have billed, a submission of the run that the
    /// ledger does not show as billed.
    pub fn may_have_been_billed(&self) -> bool {
        let is_unknown = |error: &imagekiln::Error| error.billing() == Billing::Unknown;
        let of_client = self.client_error().is_some_and(is_unknown);
        self.billing_unknown || of_client || !self.tasks.is_empty()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f
                .debug_struct("Error")
                .field("kind", &self.kind)
                .field("message", &self.message)
                .field("source", &self.source)
                .field("tasks", &self.tasks)
                .field("billing_unknown", &self.billing_unknown)
                .finish_non_exhaustive();
        }
        fmt::Display::fmt(self, f)?;
        for (index, cause) in self.causes().enumerate() {
            f.write_str(if index == 0 { "\n\nCaused by:" } else { "" })?;
            write!(f, "\n    {cause}")?;
        }
        Ok(())
    }
}

impl From<imagekiln_label::Error> for Error {
    fn from(error: imagekiln_label::Error) -> Self {
        Self::new(ErrorKind::Job, error.to_string())
    }
}

/// For functions that use a client and a ledger.
impl From<imagekiln::Error> for Error {
    fn from(error: imagekiln::Error) -> Self {
        Self::new(ErrorKind::Client, "the client failed").with_source(error)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn error::Error + 'static))
    }
}

/// The messages of both databases name tables, columns and constraints. Values of a row are only in
/// the details of PostgreSQL's errors, which `sqlx` does not print with `Display`.
#[cfg(feature = "sqlite")]
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(ErrorKind::Ledger, ledger_failed(&error)).with_source(error)
    }
}

#[cfg(feature = "postgres")]
impl From<sqlx_core::Error> for Error {
    fn from(error: sqlx_core::Error) -> Self {
        Self::new(ErrorKind::Ledger, ledger_failed(&error)).with_source(error)
    }
}

fn ledger_failed(error: &(dyn error::Error + 'static)) -> String {
    let what = "could not read or write the ledger";
    match DatabaseFailure::of(error) {
        Some(DatabaseFailure::Locked) => format!("{what}; {LOCKED}"),
        _ => what.to_owned(),
    }
}

/// What to do if the ledger stays locked.
pub(crate) const LOCKED: &str = "another process has kept it locked for too long: look for one \
    that is suspended, or that has an open transaction";

/// A failure of a database to which a ledger reacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseFailure {
    /// A lock did not become free in time.
    Locked,
    /// Another row has a value that must be unique.
    Taken,
    /// The connection broke, the server is shutting down or starting, or it ended the transaction
    /// in favor of another one. Files need no connection.
    Disconnected,
}

impl DatabaseFailure {
    /// Returns the failure that an error, or one of its sources, stands for.
    pub(crate) fn of(error: &(dyn error::Error + 'static)) -> Option<Self> {
        std::iter::successors(Some(error), |error| error.source()).find_map(|error| {
            #[cfg(feature = "postgres")]
            if let Some(error) = error.downcast_ref() {
                return Self::of_postgres(error);
            }
            #[cfg(feature = "sqlite")]
            if let Some(rusqlite::Error::SqliteFailure(error, _)) = error.downcast_ref() {
                use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
                return match (error.code, error.extended_code) {
                    (rusqlite::ErrorCode::DatabaseBusy, _) => Some(Self::Locked),
                    (_, SQLITE_CONSTRAINT_PRIMARYKEY | SQLITE_CONSTRAINT_UNIQUE) => {
                        Some(Self::Taken)
                    }
                    _ => None,
                };
            }
            None
        })
    }

    #[cfg(feature = "postgres")]
    fn of_postgres(error: &sqlx_core::Error) -> Option<Self> {
        let error = match error {
            sqlx_core::Error::Io(_) | sqlx_core::Error::Tls(_) => return Some(Self::Disconnected),
            sqlx_core::Error::Database(error) => error,
            _ => return None,
        };
        // Classes of PostgreSQL: connection exceptions, operator interventions, and rollbacks.
        // 25P03: this process was suspended during the transaction.
        let is_of = |code: &str, classes: &[&str]| classes.iter().any(|of| code.starts_with(of));
        match &*error.code()? {
            "55P03" => Some(Self::Locked),
            "23505" => Some(Self::Taken),
            code if is_of(code, &["08", "57P", "40", "25P03"]) => Some(Self::Disconnected),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_printed_without_its_source() {
        let cause = std::io::Error::other("disk full");
        let inner = Error::new(ErrorKind::File, "could not write").with_source(cause);
        let error = Error::new(ErrorKind::Ledger, "could not save").with_source(inner);
        assert_eq!(error.to_string(), "could not save");
        assert_eq!(error.chain(), "could not save: could not write: disk full");
        let text = "could not save\n\nCaused by:\n    could not write\n    disk full";
        assert_eq!(format!("{error:?}"), text);
        assert!(format!("{error:#?}").contains("kind: Ledger"), "{error:#?}");
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn a_lock_that_does_not_become_free_is_named() {
        let failed = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let busy = Error::from(failed(rusqlite::ffi::SQLITE_BUSY)).to_string();
        assert!(busy.contains("another process has kept it locked"), "{busy}");
        let full = Error::from(failed(rusqlite::ffi::SQLITE_FULL)).to_string();
        assert_eq!(full, "could not read or write the ledger");
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_chain_says_nothing_twice() {
        let quoted = sqlx_core::Error::Decode("no column".into());
        assert!(quoted.to_string().ends_with("no column"));
        let error = Error::from(quoted).chain();
        assert_eq!(error.matches("no column").count(), 1, "{error}");
    }
}
