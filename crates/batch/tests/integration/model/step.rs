//! The steps of a random history of a ledger.

use proptest::prelude::*;

/// Words in the prompts that make the simulator fail in different ways, each once.
pub const FAULTS: [&str; 11] = [
    "",
    "",
    "",
    "[[error]]",
    "[[content-moderated]]",
    "[[spurious-not-found]]",
    "[[reply-lost]]",
    "[[error-after]]",
    "[[error-before]]",
    "[[early-expiry]]",
    "[[slow-headers=0.02]]",
];

#[derive(Debug, Clone)]
pub enum Step {
    /// A process that runs the batch. Exchanges and changes are counted.
    Run {
        /// The count at which it crashes, if it gets there.
        crash_at: Option<i32>,
        /// The count at which another worker takes over its jobs. Both continue.
        take_over_at: Option<i32>,
        /// The count at which webhooks start to arrive, each twice, as soon as their tasks are
        /// billed.
        events_at: Option<i32>,
        max_active: usize,
        budget: Option<f64>,
    },
    /// A process with a key that the service refuses.
    RunWithWrongKey,
    /// A webhook of one of the billed tasks arrives, perhaps again.
    Event { task: prop::sample::Index },
    /// A person looks up which unknown jobs were billed.
    Resolve,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let crash_at = prop_oneof![1 => Just(None), 4 => (1..40).prop_map(Some)];
    let take_over_at = prop_oneof![3 => Just(None), 2 => (1..30).prop_map(Some)];
    let events_at = prop_oneof![2 => Just(None), 1 => (1..20).prop_map(Some)];
    let budget = prop::option::of((0..20_i32).prop_map(f64::from));
    let run = (crash_at, take_over_at, events_at, 1..5_usize, budget).prop_map(
        |(crash_at, take_over_at, events_at, max_active, budget)| Step::Run {
            crash_at,
            take_over_at,
            events_at,
            max_active,
            budget,
        },
    );
    let event = any::<prop::sample::Index>().prop_map(|task| Step::Event { task });
    let step = prop_oneof![
        6 => run,
        1 => Just(Step::RunWithWrongKey),
        2 => event,
        1 => Just(Step::Resolve),
    ];
    prop::collection::vec(step, 1..8)
}
