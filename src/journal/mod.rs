//! Durable records of submissions, so that a crash of the process does not lose a billed task.
//!
//! A client with a [`Journal`] writes a record of each submission before it connects to the
//! service, and adds the task to the record before [`submit`](crate::Client::submit) returns. After
//! a crash, [`Client::resume`](crate::Client::resume) returns the tasks whose pictures were not
//! saved, and the submissions whose responses were lost. The service may have billed a submission
//! without a response, so the client never sends it again.
//!
//! [`Directory`] is a journal in a folder, and [`Memory`] is one for tests. With a [`Key`],
//! [`submit_once`](crate::Client::submit_once) also recognizes a picture that was paid for before:
//! see the guide to [paying once](crate::guide::once).
//!
//! ```rust,test_harness
//! use imagekiln::{ClientBuilder, Error, Unfinished, journal::Directory, types::Gen2Pro};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let journal = Directory::open("submissions")?;
//!     let client = ClientBuilder::from_env()?.journal(journal).build()?;
//!     for unfinished in client.resume().await? {
//!         match unfinished {
//!             Unfinished::Task(task, _) => drop(task.wait().await?.save_in(".").await?),
//!             Unfinished::Unknown(record) => {
//!                 let intent = record.intent();
//!                 println!("check the usage: {:?} at {:?}", intent.label(), intent.at());
//!             }
//!             other => println!("left to a person: {other:?}"),
//!         }
//!     }
//!     let fox = Gen2Pro::new("a red fox in the snow").width(512).height(384);
//!     client.submit(fox).await?.wait().await?.save_in(".").await?;
//!     Ok(())
//! }
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/main.in"));
//! ```

mod directory;
mod intent;
mod key;
mod memory;
mod record;

use std::{
    error, fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::time;

pub(crate) use self::intent::Account;
pub use self::{
    directory::{Directory, Disk, List, Listed},
    intent::{Intent, Origin},
    key::Key,
    memory::Memory,
    record::{Keyed, Record, State, Step},
};
use crate::{Error, ErrorKind, TaskRef};

/// The return type of the methods of [`Journal`].
pub type JournalFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// The error of a method of [`Journal`].
///
/// `?` converts every other error type to [`Failed`](Self::Failed).
#[derive(Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal does not allow the submission, for example because a budget is used up.
    /// [`Error::refusal`](crate::Error::refusal) returns this reason, which the program can
    /// downcast to its own type.
    Refused(Box<dyn error::Error + Send + Sync>),
    /// The journal could not be read or written.
    Failed(Box<dyn error::Error + Send + Sync>),
}

impl<E: Into<Box<dyn error::Error + Send + Sync>>> From<E> for JournalError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl JournalError {
    pub(crate) fn into_reason(self) -> Box<dyn error::Error + Send + Sync> {
        let (Self::Refused(reason) | Self::Failed(reason)) = self;
        reason
    }

    /// Converts this error to the error of a client call. `message` says what the journal could not
    /// do; a refusal has its own message.
    pub(crate) fn into_error(self, message: &str) -> Error {
        match self {
            Self::Refused(reason) => Error::refused(reason),
            Self::Failed(reason) => Error::new(ErrorKind::Journal, message).with_source(reason),
        }
    }
}

/// Prints the reason and its causes, because `JournalError` has no `source()`.
impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused(reason) | Self::Failed(reason)) = self;
        write!(f, "{reason}")?;
        let mut causes = std::iter::successors(reason.source(), |cause| cause.source());
        causes.try_for_each(|cause| write!(f, ": {cause}"))
    }
}

/// A record that cannot be read. It may name a paid task, so the journal does not change or remove
/// it by itself. A person has to inspect the file, and then move it out of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The number of the submission in the journal.
    pub number: u64,
    /// The path of the file, or another description of its location.
    pub path: PathBuf,
    /// Why the record cannot be read.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason, .. } = self;
        write!(f, "the record in {} is unreadable: {reason}", path.display())
    }
}

impl error::Error for Unreadable {}

/// A store for the submissions of a client.
///
/// [`Directory`] stores them in files, and [`Memory`] stores them in memory, for tests. Implement
/// this trait to use a database instead: store one [`Record`] for each submission, and apply each
/// [`Step`] with [`Record::advance`], which decides what the step changes.
///
/// A write must be durable when its future completes. The client waits at most two minutes for each
/// call. A call that takes longer, or that panics, counts as failed.
///
/// [`intend`](Self::intend), [`advance`](Self::advance) and [`open_records`](Self::open_records)
/// are required. The other methods have default implementations.
pub trait Journal: Send + Sync {
    /// Writes the record of a submission that is about to be sent.
    ///
    /// If this method fails, the client sends nothing. A journal can
    /// [refuse](JournalError::Refused) submissions, for example to enforce a budget.
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()>;

    /// Writes the record of a submission with an [idempotency key](Key), like
    /// [`intend`](Self::intend), and returns `None`. If the journal already has a record with this
    /// key that may be billed, which is any state except [`NotBilled`](State::NotBilled), this
    /// method writes nothing and returns that record.
    ///
    /// If several processes call this method for one key at the same time, only one of them may
    /// write its record. Otherwise two processes would pay for the same picture. The default
    /// implementation fails, because a journal without this guarantee must not allow the
    /// submission.
    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        let _ = (intent, key);
        Box::pin(async { Err(NO_KEYS.into()) })
    }

    /// Returns the record of a key, or `None` if nothing was submitted with the key. Fails if this
    /// is not certain, for example because the record cannot be read: after `None`, the client
    /// submits, and the picture could be paid twice.
    ///
    /// The default implementation fails.
    fn of_key<'a>(&'a self, key: &'a Key) -> JournalFuture<'a, Option<Keyed>> {
        let _ = key;
        Box::pin(async { Err(NO_KEYS.into()) })
    }

    /// Permits an attempt to send the submission. The client calls this after it has connected,
    /// just before it sends the first byte of the body, and again for each retry.
    ///
    /// If this method fails, the client cancels the attempt, and nothing is billed. A journal that
    /// several processes share can use this method to stop a process that was suspended after
    /// [`intend`](Self::intend), because another process may have taken over its work since then.
    /// The method must not block. The default implementation permits every attempt.
    ///
    /// The check is not airtight: the operating system can still suspend the process between this
    /// call and the first byte.
    fn permit(&self, intent: &Intent) -> Result<(), JournalError> {
        let _ = intent;
        Ok(())
    }

    /// Returns `true` if the journal detects outages of the service, and
    /// [refuses](JournalError::Refused) submissions during an outage. The default is `false`: the
    /// client detects outages itself, and stops submitting; see [`Outage`](ErrorKind::Outage).
    #[doc(hidden)]
    fn handles_outages(&self) -> bool {
        false
    }

    /// Reports the outcome of a submission to a journal that [handles
    /// outages](Self::handles_outages), after [`advance`](Self::advance). `failure` is `None` if
    /// the service accepted the submission. The default implementation does nothing.
    #[doc(hidden)]
    fn ended<'a>(
        &'a self,
        submission: &'a Intent,
        failure: Option<&'a crate::Error>,
    ) -> JournalFuture<'a, ()> {
        let _ = (submission, failure);
        Box::pin(async { Ok(()) })
    }

    /// Applies a step to the record of a submission, and writes the record. `submission` is the
    /// [id](Intent::id) of the intent.
    ///
    /// If an [acceptance](Step::Accepted) cannot be written, `submit` returns an error that
    /// contains the task. [`Client::settle`](crate::Client::settle) and
    /// [`Client::dismiss`](crate::Client::dismiss) return the failure, too. Other failures are only
    /// logged: the record stays open, and resuming its task polls the service and gets the same
    /// result.
    ///
    /// The method succeeds if the step changes nothing. If the journal no longer has the record, it
    /// succeeds for every step except an acceptance, which would be lost.
    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()>;

    /// Assigns a task that a person has found to a submission, with [`Step::Accepted`]. Returns
    /// `false` and changes nothing if another submission to the same service already has the task,
    /// because one paid picture must not count for two submissions. The record of that other
    /// submission may be open or closed, and any process may have written it.
    ///
    /// The default implementation searches only [`open_records`](Self::open_records), and without a
    /// lock. It is correct for a journal that one process uses and that keeps no closed records.
    fn adopt<'a>(&'a self, submission: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, bool> {
        Box::pin(async move {
            let has_task = |record: &Record| record.is_other_with(submission, task);
            if self.open_records().await?.iter().flatten().any(has_task) {
                return Ok(false);
            }
            self.advance(submission.id(), &Step::Accepted(task.clone())).await?;
            Ok(true)
        })
    }

    /// Returns the records that are not closed, oldest first. Omits the records that another
    /// running process is working on.
    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>>;

    /// Returns the records like [`open_records`](Self::open_records), for a client that continues
    /// only submissions to its own service. A journal that several processes share must claim only
    /// the records for which `continues` returns `true`, so that a client of the other service can
    /// still claim the others. The default implementation ignores `continues`.
    #[doc(hidden)]
    fn open_records_for(
        &self,
        continues: Continues,
    ) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        let _ = continues;
        self.open_records()
    }
}

/// A function that returns whether a client can continue a record.
#[doc(hidden)]
pub type Continues = Arc<dyn Fn(&Record) -> bool + Send + Sync>;

const NO_KEYS: &str = "this journal does not implement idempotency keys";

/// The maximum duration of one call of a journal. A ledger waits for its database for less time
/// than this, so a slow database ends with the error of the ledger.
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// Calls a method of a journal and awaits its future. A panic, or a future that takes longer than
/// [`LONGEST_CALL`], becomes an error.
pub(crate) async fn call<'a, T>(
    method: impl FnOnce() -> JournalFuture<'a, T>,
) -> Result<T, JournalError> {
    let calling = async {
        let mut future = pin!(caught(method)?);
        poll_fn(|context| {
            caught(|| future.as_mut().poll(context)).unwrap_or_else(|panic| Poll::Ready(Err(panic)))
        })
        .await
    };
    time::timeout(LONGEST_CALL, calling).await.unwrap_or_else(|_| {
        Err(format!("the journal did not respond within {} s", LONGEST_CALL.as_secs()).into())
    })
}

/// Records what happened to a task. If the journal fails, the error is only logged: the record
/// stays open, and resuming the submission asks the service again and gets the same result.
pub(crate) async fn note(journal: Option<&dyn Journal>, task: &TaskRef, step: &Step) {
    let (Some(journal), Some(submission)) = (journal, task.submission()) else { return };
    if let Err(error) = call(|| journal.advance(submission, step)).await {
        tracing::warn!(task_id = task.id(), %error, "could not write to the journal");
    }
}

/// Calls a function, and converts a panic to an error.
pub(crate) fn caught<T>(function: impl FnOnce() -> T) -> Result<T, JournalError> {
    // This is sound, because the client does not use anything again that a panic of the journal
    // could leave half changed.
    catch_unwind(AssertUnwindSafe(function)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("the journal panicked: {text}").into()
    })
}
