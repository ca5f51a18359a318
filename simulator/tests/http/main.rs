//! The simulator over real HTTP.

mod bench;
mod contract;
mod delivery;
mod mutations;
mod operations;
mod refusals;
mod sizes;
mod tasks;
mod webhook_receiver;
mod webhooks;
mod webhooks_log;
