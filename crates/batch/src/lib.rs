#![doc = include_str!("../README.md")]
//! # The main types
//!
//! | type | what it is for |
//! |---|---|
//! | [`Job`] | a request with a name and a target |
//! | [`Ledger`] | the record of jobs and payments |
//! | [`Jobs`], [`Limits`], [`Reports`] | read and change the jobs of a ledger, their limits and reports |
//! | [`Filter`] | selects jobs of a ledger |
//! | [`Batch`] | runs the jobs of a ledger with a client |
//! | [`Dispatcher`] | continues single jobs, for a program that has a queue or a workflow engine |
//! | [`Scope`] | says what a limit is for: the whole ledger, a model or a group |
//! | [`Price`] | what a budget reserves for a submission until its cost is known |
#![cfg_attr(docsrs, feature(doc_cfg))]
// This feature is on by default, so a badge at many items would say little.
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature = "sqlite"))))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("a ledger needs a database: turn on the feature `sqlite` or `postgres`");

use std::sync::{Mutex, MutexGuard, PoisonError};

mod batch;
#[cfg(feature = "webhook")]
mod callbacks;
mod description;
mod error;
#[cfg(feature = "__fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod job;
mod ledger;
mod output;
mod price;
mod report;
mod scope;
mod state;
mod time;

pub use imagekiln_label::Price;

#[cfg(feature = "webhook")]
pub use self::callbacks::Callbacks;
pub use self::{
    batch::{Advanced, Batch, Dispatcher},
    error::{Error, ErrorKind},
    job::{Filter, Job, JobStatus},
    ledger::{
        Jobs, KnownJob, Ledger, LimitStatus, Limits, Outage, Reports, Resolution, Resolved, Watch,
    },
    price::Prices,
    report::{Report, ReportRow, SpendingRow},
    scope::Scope,
    state::JobState,
};

/// The programs of the book, which are tested with this package.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/users.md")]
    mod users {}

    #[doc = include_str!("../../../docs/web-app.md")]
    mod web_app {}
}

/// Locks a value that is valid at any time at which a thread that holds the lock could panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns random bytes, which nobody can guess.
fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(Error::because(ErrorKind::Ledger, "the operating system has no random numbers"))?;
    Ok(bytes)
}
