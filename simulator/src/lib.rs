#![doc = include_str!("../README.md")]

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

pub use self::accounts::{
    AuditEntry, Finetune, KeyView, Limits, Member, Organization, OrganizationView, Permission,
    Project, ProjectKey, ProjectView, Role, Spent, Usage,
};
pub use self::clock::Clock;
pub use self::config::Config;
pub use self::contract::{Region, schema_validator};
pub use self::counts::Counts;
pub use self::credits::{Credits, Price, Prices};
pub use self::error::{ConfigError, StartError};
pub use self::faults::{FaultError, FaultPlace, FaultRule, Faults, KnownFault};
pub use self::ledger::{Account, LedgerEntry};
pub use self::moderation::Moderation;
pub use self::simulator::Simulator;
pub use self::tasks::TaskView;
pub use self::webhooks::{
    WebhookAttempt, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings, WebhookState,
};
