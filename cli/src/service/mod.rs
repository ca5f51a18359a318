//! The connection to the service, or to a simulator in this process.

mod recordings;
mod retries;
pub mod session;
pub mod trace;
