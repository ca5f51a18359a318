//! Spans and metrics.

mod metrics;
mod spans;
mod tables;
