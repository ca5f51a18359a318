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
