//! Tests against a misbehaving server. Every test checks the received requests, above all whether
//! they contain the key.
//!
//! Client and server share a thread with a paused clock, which advances only when both wait. So
//! each test takes milliseconds, whatever it waits for.

mod broken_submission;
mod bytes_on_the_wire;
mod changing_files;
mod concurrency_limits;
mod damaged;
mod damaged_responses;
mod deadline;
mod delivery;
mod delivery_hosts;
mod download_limits;
mod dropped_submission;
mod encodings;
mod expiry;
mod failing_polls;
mod foreign_polling_host;
mod found_limits;
// Its certificate is trusted by `SSL_CERT_FILE`, which Windows and macOS do not read.
#[cfg(all(unix, not(target_os = "macos")))]
mod http2;
mod inputs;
mod key_hosts;
mod proxies;
mod rate_limits;
mod redirects;
mod refused_submission;
mod save_options;
mod saving;
mod secrets;
mod simulated_faults;
mod slots;
mod slow_responses;
mod statuses;
mod unreachable;
mod unusual_responses;
mod uploads;
mod what_is_sent;
mod wholeness;
