#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

mod billing;
mod config;
mod contract;
mod control;
mod endpoints;
mod error;
mod expectation;
mod faults;
#[cfg(feature = "__fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod journal;
mod request;
mod runtime;
mod simulator;
mod snapshot;
mod state;
mod tasks;
mod values;
mod webhooks;

pub use self::billing::accounts::{
    AuditEntry, Finetune, KeyView, Limits, Member, Organization, OrganizationView, Permission,
    Project, ProjectKey, ProjectView, Role, Spent, Usage,
};
pub use self::billing::credits::{Credits, Price, Prices};
pub use self::billing::ledger::{Account, LedgerEntry};
pub use self::config::{Config, ConfigError, FetchImages, OutputFormat, TlsFiles};
pub use self::contract::{Region, Schema};
pub use self::error::StartError;
pub use self::expectation::Expectation;
pub use self::faults::{FaultError, FaultPlace, FaultRule, Faults, KnownFault};
pub use self::journal::{RequestRecord, RequestViolation};
pub use self::runtime::clock::Clock;
pub use self::simulator::Simulator;
pub use self::snapshot::{RestoreError, Snapshot};
pub use self::tasks::{
    Counts, TaskView,
    lateness::{Delays, Lateness, PollsPerTask},
    outcome::Moderation,
};
pub use self::values::secret::Secret;
pub use self::webhooks::{
    WebhookAttempt, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings, WebhookState,
};
