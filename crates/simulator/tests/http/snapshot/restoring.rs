//! Restoring: what it replaces, and the Rust interface.

use std::time::Duration;

use super::{config, prepared};
use crate::bench::{Bench, small};
use imagekiln_simulator::{Config, Snapshot};

#[tokio::test]
async fn it_replaces_what_happened_since() {
    let bench = prepared().await;
    let document = bench.snapshot().await;
    for _ in 0..3 {
        bench.submit("/v1/gen-2-flex", &small("another")).await;
        bench.sim.faults().clear();
        bench.sim.clock().set_speed(60.0);
        bench.sim.clock().advance(Duration::from_secs(3));
        let now = bench.sim.clock().now();
        assert_eq!(bench.restore(&document).await.status, 200);
        assert!(bench.sim.clock().now() >= now, "the clock keeps its time");
        assert_eq!(bench.snapshot().await, document);
        assert!(bench.sim.webhooks().is_empty() && bench.sim.requests().is_empty());
    }
}

#[tokio::test]
async fn programs_in_rust_need_no_document() {
    let first = prepared().await;
    let snapshot = first.sim.snapshot();
    assert_eq!(format!("{snapshot:?}"), "Snapshot { version: 3, .. }");
    let second = Bench::with(config()).await;
    second.sim.restore(&snapshot).await.unwrap();
    second.sim.restore(&Snapshot::from_json(&snapshot.to_json()).unwrap()).await.unwrap();
    assert_eq!(second.sim.snapshot().to_json(), snapshot.to_json());
    let small_sides = Config { max_output_side: 63, ..config() };
    let third = Bench::with(small_sides).await;
    let refused = third.sim.restore(&snapshot).await.unwrap_err();
    let first = &first.sim.tasks()[0].id;
    assert_eq!(refused.place, format!("records.tasks, the task {first}"));
    assert!(refused.to_string().contains("raise `max_output_side`"), "{refused}");
}

#[tokio::test]
async fn tasks_beyond_the_memory_are_dropped() {
    let first = prepared().await;
    let second = Bench::with(Config { max_kept_bytes: 12_000, ..config() }).await;
    second.sim.restore(&first.sim.snapshot()).await.unwrap();
    let (all, kept) = (first.sim.tasks(), second.sim.tasks());
    assert!(kept.len() < all.len() && !kept.is_empty(), "{kept:?}");
    assert_eq!(kept.last().unwrap().id, all.last().unwrap().id, "the oldest are dropped");
    assert_eq!(second.sim.counts(), first.sim.counts());
}

#[tokio::test]
async fn the_page_reads_everything_again() {
    let bench = prepared().await;
    let document = bench.snapshot().await;
    let mut events = bench.events().await;
    assert_eq!(bench.restore(&document).await.status, 200);
    let event = events.next().await;
    for part in ["tasks", "counts", "requests", "accounts", "faults", "clock", "webhooks"] {
        assert!(event.contains(&format!("\"{part}\"")), "{part}: {event}");
    }
}

#[tokio::test]
async fn the_seeds_of_the_fuzz_target_can_be_restored() {
    let bench = Bench::with(config()).await;
    let corpus = imagekiln_testbed::corpus();
    for seed in ["snapshot/no_tasks", "snapshot/rules", "snapshot/tasks"] {
        let snapshot = Snapshot::from_json(&corpus[seed]).unwrap();
        bench.sim.restore(&snapshot).await.unwrap_or_else(|error| panic!("{seed}: {error}"));
    }
}
