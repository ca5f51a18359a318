//! The SDK against a server that misbehaves: each test asserts what arrived on the wire, the key
//! above all.
//!
//! Client and server share one thread on a paused clock, which moves only when both wait; so each
//! test takes milliseconds, whatever it waits for.

mod broken_submission;
mod bytes_on_the_wire;
mod caps;
mod changing_files;
mod damaged_responses;
mod deadline;
mod delivery;
mod delivery_hosts;
mod download_limits;
mod dropped_submission;
mod expiry;
mod failing_polls;
mod foreign_polling_host;
mod http2;
mod inputs;
mod key_hosts;
mod odd_replies;
mod proxies;
mod rate_limits;
mod redirects;
mod refused_submission;
mod save_options;
mod saving;
mod secrets;
mod slots;
mod slow_responses;
mod statuses;
mod unreachable;
mod uploads;
mod what_is_sent;
mod wholeness;
