//! The asynchronous image generation and editing service on this machine: in memory, stateful, and
//! true to its contract, for tests and for trying things out without a key or a credit.
//!
//! ```
//! use imagekiln_simulator::{Config, Simulator};
//! use std::time::Duration;
//!
//! # async fn run() -> Result<(), imagekiln_simulator::StartError> {
//! let sim = Simulator::start(Config::default()).await?;
//! // Point a client at `sim.base_url()` with the key `sim.api_key()`, submit a task, and then:
//! sim.clock().advance(Duration::from_secs(1)); // the task is ready, and nobody has slept
//! assert_eq!(sim.counts().accepted, 0); // nothing was paid twice, nothing lost
//! sim.shutdown().await;
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run()).unwrap();
//! ```
//!
//! # What it serves
//!
//! Paths, methods and limits are read from `openapi.json`, which is built in: an operation that is
//! added to the document is served without new code. Requests are validated by a JSON Schema
//! validator against that document, and not through anybody's types, so that a client's mistakes
//! show. Clients in any language can use it.
//!
//! Pictures are real files of the kind and size that were asked for, worked from the images, the
//! mask, the prompt and the seed of the request: the same request gives the same bytes. They are
//! placeholders, and say so.
//!
//! # Words
//!
//! Words in a prompt, or in any other text of a request that is neither an image nor a secret,
//! choose how its task ends:
//!
//! | word | what happens |
//! |---|---|
//! | `[[error]]` | the task ends with `Error` |
//! | `[[request-moderated]]` | the task ends with `Request Moderated` |
//! | `[[content-moderated]]` | the task ends with `Content Moderated` |
//! | `[[not-found]]` | the task ends with `Task not found` |
//! | `[[unknown-status]]` | until it ends, the task shows the status `Warming the kiln` |
//!
//! # Faults
//!
//! Other words, a header and rules make the service fail as real ones do: replies that are lost,
//! proxies' pages, storms of 429, resets, pictures that are cut short. [`Faults`] tells all of it.
//!
//! # What is the simulator's own
//!
//! Where the interface does not say what the service does, the simulator does the plainest thing.
//! `docs/simulator.md` in the repository tells all of it. The most important: in-progress statuses
//! are `Pending` and `Processing`; a delivery address is good for ten minutes from the moment its
//! task became ready; polling an id that is not known *at that address*, or not to that project,
//! answers 200 with `Task not found`; what is not paid is refused with 402; images given by their
//! address are not fetched; webhooks go to this machine alone unless the settings allow more.

mod accounts;
mod answer;
mod chance;
mod clock;
mod config;
mod contract;
mod control;
mod counts;
mod credits;
mod delivery;
mod error;
mod faults;
mod ledger;
mod moderation;
mod open_fields;
mod order;
mod outcome;
mod paint;
mod part;
mod pattern;
mod poll;
mod seconds;
mod serve;
mod server;
mod service;
mod simulator;
mod size;
mod submit;
mod tasks;
mod validation;
mod video;
mod webhooks;
mod work;

pub use accounts::{
    AuditEntry, Finetune, KeyView, Limits, Member, Organization, OrganizationView, Permission,
    Project, ProjectKey, ProjectView, Role, Spent, Usage,
};
pub use clock::Clock;
pub use config::Config;
pub use contract::Region;
pub use counts::Counts;
pub use credits::{Credits, Price, Prices};
pub use error::{ConfigError, StartError};
pub use faults::{FaultError, FaultPlace, FaultRule, Faults, KnownFault};
pub use ledger::{Account, LedgerEntry};
pub use moderation::Moderation;
pub use simulator::Simulator;
pub use tasks::TaskView;
pub use webhooks::{
    WebhookAttempt, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings, WebhookState,
};
