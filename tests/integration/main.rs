//! The SDK over real HTTP.

mod agreement;
mod blocking;
mod bounds;
mod documented;
mod drift;
mod error_parts;
mod errors;
mod hostile;
mod journal;
mod limits;
mod loopback;
mod middleware;
mod operations;
mod pictures;
mod recordings;
mod refused_values;
mod requests;
mod responses;
mod stored;
mod support;
mod telemetry;
mod transport;
mod unlisted_members;
mod webhooks;
mod wire;
