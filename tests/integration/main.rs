//! The SDK over real HTTP.

mod agreement;
mod blocking;
mod bounds;
mod documented;
mod drift;
mod error_parts;
mod errors;
mod front_pages;
mod hostile;
mod journal;
mod limits;
mod loopback;
mod middleware;
mod operations;
mod pictures;
mod recordings;
mod requests;
mod responses;
mod schemas;
mod stored;
mod support;
mod telemetry;
mod transport;
mod unlisted_members;
mod webhooks;
mod wire;
