//! placeholder docs

mod accounts;
mod answer;
mod chance;
mod clock;
mod config;
mod contract;
mod counts;
mod credits;
mod delivery;
mod error;
mod order;
mod outcome;
mod paint;
mod poll;
mod server;
mod service;
mod simulator;
mod size;
mod submit;
mod tasks;
mod validation;
mod work;

pub use clock::Clock;
pub use config::Config;
pub use contract::Region;
pub use counts::Counts;
pub use credits::{Credits, Prices};
pub use error::StartError;
pub use simulator::Simulator;
pub use tasks::TaskView;
