//! A durable record of submissions, so that no billed task is lost with its process.
//!
//! A client with a [`Journal`] records each submission before it connects, and its task before
//! [`submit`](crate::Client::submit) returns. After a crash,
//! [`Client::resume`](crate::Client::resume) returns the tasks whose pictures were not saved, and
//! the submissions that the service may have accepted. The client never sends those again.
//!
//! ```
//! use imagekiln::{Client, Unfinished, journal::Directory};
//!
//! # async fn run() -> Result<(), imagekiln::Error> {
//! let client = Client::builder()
//!     .journal(Directory::open("submissions")?)
//!     .api_key("my key")
//!     .base_url("https://api.example.com")
//!     .build()?;
//! for unfinished in client.resume().await? {
//!     match unfinished {
//!         Unfinished::Task(task, _) => {
//!             let saved = task.wait().await?.save_in("pictures").await?;
//!             println!("saved {}", saved.path.display());
//!         }
//!         Unfinished::Unknown(record) => {
//!             let intent = record.intent();
//!             println!("check the usage: {:?} at {:?}", intent.label(), intent.at());
//!         }
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod account;
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

pub use self::{
    account::Account,
    directory::{Directory, Disk, List, Listed},
    intent::{Intent, Origin},
    key::Key,
    memory::Memory,
    record::{Keyed, Record, State, Step},
};
use crate::{Error, ErrorKind, TaskRef};

/// The return type of the methods of [`Journal`].
pub type JournalFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// Why a journal did not do what it was asked.
///
/// `?` turns every other error into [`Failed`](Self::Failed).
#[derive(Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal does not allow the submission, for example because a budget is used up.
    /// [`Error::refusal`](crate::Error::refusal) returns the reason, and its type.
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

    /// Returns the error of the client. `message` says what the journal could not do.
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

/// A record that cannot be read. It may name a paid task, so its journal never changes or removes
/// it: a person looks at it, and moves it away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The number of the submission in the journal.
    pub number: u64,
    /// The path of the file, or another name of the place.
    pub path: PathBuf,
    /// What is wrong with it.
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
/// [`Directory`] is a store in files, and [`Memory`] one for tests. Implement this trait to use a
/// database instead: keep a [`Record`] for each submission, and let [`Record::advance`] decide what
/// follows from a step.
///
/// Writes must be durable when their future completes. The client waits for each of them for at
/// most two minutes. A method that panics, or takes longer, has failed.
///
/// [`intend`](Self::intend), [`advance`](Self::advance) and [`open_records`](Self::open_records)
/// are required. The other methods have defaults.
pub trait Journal: Send + Sync {
    /// Writes the record of a submission that is about to be sent.
    ///
    /// If this method fails, nothing is sent. A journal can [refuse](JournalError::Refused)
    /// submissions, for example to enforce a budget.
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()>;

    /// Writes the record of a submission with an [idempotency key](Key) like
    /// [`intend`](Self::intend), unless the journal has one with this key that may be billed: with
    /// any state but [`NotBilled`](State::NotBilled). Returns that, and writes nothing.
    ///
    /// Of several processes that call it at the same time, one writes. The default fails, because a
    /// journal that cannot promise this must not submit.
    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        let _ = (intent, key);
        Box::pin(async { Err(NO_KEYS.into()) })
    }

    /// Returns the record of a key. `None` if nothing was submitted with it. Fails if that is not
    /// certain, for example because the record cannot be read.
    ///
    /// The default fails.
    fn of_key<'a>(&'a self, key: &'a Key) -> JournalFuture<'a, Option<Keyed>> {
        let _ = key;
        Box::pin(async { Err(NO_KEYS.into()) })
    }

    /// Permits an attempt to send the submission. The client calls this after it has connected,
    /// just before it sends the first byte of the body, and again for each retry.
    ///
    /// If this method fails, the attempt is cancelled and nothing is billed. A journal that several
    /// processes share can use this to stop a process that was suspended since
    /// [`intend`](Self::intend). It must not block. The default permits every attempt.
    ///
    /// The operating system can still suspend the process between this call and the first byte.
    fn permit(&self, intent: &Intent) -> Result<(), JournalError> {
        let _ = intent;
        Ok(())
    }

    /// Whether the journal decides when submissions stop because of an outage of the service, and
    /// [refuses](JournalError::Refused) them then, instead of the client: see
    /// [`Outage`](ErrorKind::Outage). The default is `false`.
    #[doc(hidden)]
    fn handles_outages(&self) -> bool {
        false
    }

    /// Tells the journal how a submission ended, after [`advance`](Self::advance). `failure` is
    /// `None` if the service has accepted it. The default does nothing.
    #[doc(hidden)]
    fn ended<'a>(
        &'a self,
        submission: &'a Intent,
        failure: Option<&'a crate::Error>,
    ) -> JournalFuture<'a, ()> {
        let _ = (submission, failure);
        Box::pin(async { Ok(()) })
    }

    /// Applies a step to the record of a submission, and writes it. `submission` is the
    /// [id](Intent::id) of its intent.
    ///
    /// If an [acceptance](Step::Accepted) can't be written, `submit` returns an error that contains
    /// the task. Other failures are only logged: the record stays open, and the next run finds out
    /// the same again. Succeeds if the step changes nothing, and if the journal no longer has the
    /// record.
    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()>;

    /// Records a task that a person has found as that of a submission, with
    /// [`Step::Accepted`]. Returns `false`, and changes nothing, if another submission to the same
    /// service has the task: an open or a closed one, of this process or another.
    ///
    /// The default is for journals of one process that keep no closed records.
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

    /// Returns the records that are not closed, oldest first, without those that another process
    /// works on.
    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>>;

    /// Returns the same records as [`open_records`](Self::open_records), for a client that only
    /// continues those of its own service. A journal of several processes does not take the others
    /// over, so that a client of their service can. The default takes all.
    #[doc(hidden)]
    fn open_records_for(
        &self,
        continues: Continues,
    ) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        let _ = continues;
        self.open_records()
    }
}

/// Whether a client continues a record.
#[doc(hidden)]
pub type Continues = Arc<dyn Fn(&Record) -> bool + Send + Sync>;

const NO_KEYS: &str = "this journal does not implement idempotency keys";

/// Longer than a ledger waits for its database.
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// Calls a method and awaits its future. A panic is an error, and so is a future that takes too
/// long.
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

/// Records what happened to a task. A failure of the journal is only logged: the record stays open,
/// and whoever resumes it finds out the same again.
pub(crate) async fn note(journal: Option<&dyn Journal>, task: &TaskRef, step: &Step) {
    let (Some(journal), Some(submission)) = (journal, task.submission()) else { return };
    if let Err(error) = call(|| journal.advance(submission, step)).await {
        tracing::warn!(task_id = task.id(), %error, "could not write to the journal");
    }
}

/// Calls a function. A panic is an error.
pub(crate) fn caught<T>(function: impl FnOnce() -> T) -> Result<T, JournalError> {
    // Nothing of the client is used again that a panic could leave half changed.
    catch_unwind(AssertUnwindSafe(function)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("the journal panicked: {text}").into()
    })
}
