//! Webhooks: deliveries are verified, and nothing is believed that a poll did not confirm.

mod confirming;
mod defaults;
mod following;
mod properties;
mod receiving;
mod signed;
mod simulated;
mod stage;
mod standard_vectors;
mod waking;
mod wrong_signatures;
