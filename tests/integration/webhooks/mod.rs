//! Webhooks: deliveries are verified, and events are only acted on after a poll.

mod confirming;
mod defaults;
mod following;
mod properties;
mod receiving;
mod signed;
mod simulated;
mod simulation;
mod standard_vectors;
mod test_receiver;
mod waking;
mod wrong_signatures;
