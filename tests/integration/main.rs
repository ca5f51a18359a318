//! The SDK over real HTTP.

mod bounds;
mod documented;
mod error_parts;
mod errors;
mod hostile;
mod journal;
mod limits;
mod operations;
mod requests;
mod support;
mod webhooks;
mod wire;
