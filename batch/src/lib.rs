#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

mod batch;
#[cfg(feature = "webhook")]
mod callbacks;
mod digest;
mod error;
mod job;
mod ledger;
mod output;
mod provenance;
mod report;
#[cfg(feature = "sheet")]
mod sheet;
mod state;
mod stored_request;
mod template;

pub use self::batch::{Batch, Events};
#[cfg(feature = "webhook")]
pub use self::callbacks::Callbacks;
pub use self::error::{Error, ErrorKind};
pub use self::job::{Job, JobStatus};
pub use self::ledger::{Ledger, Resolution};
pub use self::report::{Report, ReportRow};
#[cfg(feature = "sheet")]
pub use self::sheet::{Sheet, SheetEntry};
pub use self::state::State;
pub use self::template::{Template, TemplateFields};
