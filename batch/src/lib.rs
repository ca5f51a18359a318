#![doc = include_str!("../README.md")]
#![cfg_attr(
    feature = "ledger",
    doc = "# Where to start",
    doc = "",
    doc = "[`Batch`] runs the [`Job`]s of a [`Ledger`]. [`Scope`] says what a limit is for."
)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// It is on by default, so a badge at nearly every item would say little.
#![cfg_attr(docsrs, doc(auto_cfg(hide(feature = "ledger", feature = "sqlite"))))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]
#![cfg_attr(not(feature = "ledger"), allow(dead_code, reason = "for the ledger"))]

#[cfg(all(feature = "ledger", not(any(feature = "sqlite", feature = "postgres"))))]
compile_error!("a ledger needs a database: turn on the feature `sqlite` or `postgres`");

#[cfg(feature = "ledger")]
mod batch;
#[cfg(feature = "webhook")]
mod callbacks;
mod error;
#[cfg(feature = "ledger")]
mod filter;
#[cfg(feature = "__fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "ledger")]
mod job;
#[cfg(feature = "ledger")]
mod ledger;
#[cfg(feature = "ledger")]
mod output;
mod price;
mod provenance;
#[cfg(feature = "ledger")]
mod report;
#[cfg(feature = "ledger")]
mod scope;
#[cfg(feature = "ledger")]
mod state;
mod template;
#[cfg(feature = "ledger")]
mod time;

#[cfg(feature = "ledger")]
pub use self::batch::{Advanced, Batch, Dispatcher};
#[cfg(feature = "webhook")]
pub use self::callbacks::Callbacks;
pub use self::error::{Error, ErrorKind};
#[cfg(feature = "ledger")]
pub use self::filter::Filter;
#[cfg(feature = "ledger")]
pub use self::job::{Job, JobStatus};
#[cfg(feature = "ledger")]
pub use self::ledger::{KnownJob, Ledger, LimitStatus, Outage, Resolution, Resolved, Watch};
pub use self::price::{Price, Prices};
pub use self::provenance::{DescribedPicture, DescribedTimes, Description, describe_request};
#[cfg(feature = "ledger")]
pub use self::report::{Report, ReportRow, SpendingRow};
#[cfg(feature = "ledger")]
pub use self::scope::Scope;
#[cfg(feature = "ledger")]
pub use self::state::JobState;
pub use self::template::{Template, TemplateFields};

/// The programs of the book, which are tested with this package.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/users.md")]
    mod users {}

    #[doc = include_str!("../../docs/web-app.md")]
    mod web_app {}
}

/// Returns the SHA-256 digest in lower-case hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    use sha2::{Digest as _, Sha256};

    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns random bytes, which nobody can guess.
#[cfg(feature = "ledger")]
fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = "the operating system has no random numbers";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })?;
    Ok(bytes)
}
