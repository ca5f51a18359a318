//! Leaves out parts of a history that breaks a promise.

use crate::{
    Broken,
    events::EVENTS,
    live_without,
    world::{FAULTS, PICTURES, RUNS},
};

/// What a history can do without, beside runs, pictures and faults of the service.
const PARTS: [&str; 12] = [
    "second process",
    "other service",
    "other keys",
    "vandal",
    "stops",
    "lost ledgers",
    "ledger faults",
    "disk faults",
    "hooks",
    "clock jumps",
    "crashes",
    "deaths",
];

/// Returns the history with as few parts as possible that still breaks a promise: each part is left
/// out, and comes back if all promises are kept without it.
pub(crate) fn shrink(mut broken: Broken) -> Broken {
    let mut without = Vec::new();
    let runs = (1..=RUNS).map(|run| format!("run {run}"));
    let pictures = (1..=PICTURES).rev().map(|picture| format!("picture {picture}"));
    let others = PARTS.iter().chain(&FAULTS).chain(&EVENTS).map(ToString::to_string);
    for part in runs.chain(pictures).chain(others) {
        without.push(part);
        match live_without(broken.seed, &without) {
            Err(shorter) => broken = shorter,
            Ok(_) => drop(without.pop()),
        }
    }
    broken
}
