//! A local simulator of the asynchronous image generation and editing service: in memory, stateful
//! and true to its contract, for tests and experiments without a key or credits.
//!
//! ```
//! use imagekiln_simulator::{Config, Simulator};
//! use std::time::Duration;
//!
//! # async fn run() -> Result<(), imagekiln_simulator::StartError> {
//! let sim = Simulator::start(Config::default()).await?;
//! // Point a client at `sim.base_url()` with the key `sim.api_key()`, submit a task, and then:
//! sim.clock().advance(Duration::from_secs(1)); // the task is ready without any sleep
//! assert_eq!(sim.counts().accepted, 0); // and check what was charged
//! sim.shutdown().await;
//! # Ok(())
//! # }
//! # let mut runtime = tokio::runtime::Builder::new_current_thread();
//! # runtime.enable_all().build().unwrap().block_on(run()).unwrap();
//! ```
//!
//! # What it serves
//!
//! Paths, methods and limits are read from `openapi.json`, which is built in: an operation that is
//! added to the document is served without new code. A JSON Schema validator checks requests
//! against that document, independently of any client's types, so that a client's mistakes show.
//! Clients in any language can use it.
//!
//! Pictures are real files of the requested format and size, generated from the images, the mask,
//! the prompt and the seed of the request. The same request produces the same bytes. They are
//! placeholders, and labeled as such.
//!
//! # Outcomes
//!
//! A word in a prompt, or in any other text of a request that is neither an image nor a secret,
//! selects the outcome of its task:
//!
//! | word | outcome |
//! |---|---|
//! | `[[error]]` | the task ends with `Error` |
//! | `[[request-moderated]]` | the task ends with `Request Moderated` |
//! | `[[content-moderated]]` | the task ends with `Content Moderated` |
//! | `[[not-found]]` | the task ends with `Task not found` |
//! | `[[unknown-status]]` | while in progress, the task has the status `Warming the kiln` |
//!
//! # Faults
//!
//! Other words, a header and rules make the service fail in realistic ways: lost responses, error
//! pages of proxies, series of 429, connection resets, truncated pictures. See [`Faults`].
//!
//! # Where the contract is silent
//!
//! Where the contract does not define what the service does, the simulator behaves in the simplest
//! way. `docs/simulator.md` in the repository lists all of it. In short: in-progress statuses are
//! `Pending` and `Processing`; a delivery URL is valid for ten minutes after its task became ready;
//! polling an id that is unknown *at that base URL*, or belongs to another project, returns 200
//! with `Task not found`; a submission without sufficient credits gets a 402; image URLs are not
//! fetched; webhooks are sent only to this machine unless the settings allow more.

mod accounts;
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
mod outcome;
mod paint;
mod parsed_request;
mod part;
mod pattern;
mod poll;
mod response;
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
mod worker_pool;

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
