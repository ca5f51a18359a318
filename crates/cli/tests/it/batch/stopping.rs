//! Batches that are killed, interrupted, or run twice.

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{AGES, Bench, Place},
    running::{Running, resume_command},
    server::{Exchange, Server},
};

/// Each job is submitted only after the picture of the one before is saved.
pub const RUN: &str = "batch run --output pictures --names {index}.{ext} --width 64 --height 64 \
                       --prompt 'a fox' --prompt 'a wolf' --max-active=1";

#[test]
fn a_killed_batch_is_resumed() {
    let bench = Bench::ready_after(AGES);
    let mut batch = Running::start(&mut bench.kiln(RUN));
    batch.until_state("submitted");
    batch.kill();
    bench.simulator.clock().advance(AGES);
    let mut batch = Running::start(&mut bench.kiln(RUN));
    batch.until_state("saved");
    batch.until_state("submitted");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = batch.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(bench.simulator.counts().accepted, 2);
    for name in ["pictures/1.jpg", "pictures/2.jpg"] {
        assert!(bench.place.path(name).is_file());
    }
}

#[test]
fn the_first_interruption_ends_the_active_jobs() {
    let bench = Bench::ready_after(AGES);
    let mut batch = Running::start(&mut bench.kiln(RUN));
    batch.until_state("submitted");
    let status = bench.run("batch status --ledger pictures").ok().text();
    assert!(status.contains("submitted"), "{status}");
    let locked = bench.run(RUN).fails(1);
    let owner = format!("is already open in process {};", batch.child.id());
    locked.says(&owner);
    batch.interrupt();
    batch.until("stopping:");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = batch.end();
    assert_eq!(code, 130, "{said}");
    assert_shown!("stopped", said);
    assert_eq!(bench.simulator.counts().accepted, 1);
    let mut batch = Running::start(&mut bench.shell_command(resume_command(&said)));
    batch.until_state("submitted");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = batch.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn the_second_interruption_leaves_the_active_jobs() {
    let bench = Bench::ready_after(AGES);
    let mut batch = Running::start(&mut bench.kiln(&format!("{RUN} --json")));
    batch.until_state("submitted");
    batch.interrupt();
    batch.until("stopping");
    batch.interrupt();
    let (code, _, said) = batch.end();
    assert_eq!(code, 130, "{said}");
    let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(error["message"], "interrupted: 2 of 2 jobs are not saved: 1 queued, 1 submitted");
    assert_eq!((&error["kind"], &error["exit_code"]), (&json!("interrupted"), &json!(130)));
    bench.simulator.clock().advance(AGES);
    let mut resumed = bench.shell_command(error["resume"].as_str().unwrap());
    let mut batch = Running::start(&mut resumed);
    batch.until_state("saved");
    assert_eq!(bench.simulator.counts().charged.hundredths(), 300, "no job is paid for twice");
    batch.kill();
}

/// A batch whose first submission has no response yet, and that was interrupted twice.
fn interrupted_in_flight(place: &Place, server: &Server) -> (Running, Exchange) {
    let mut batch = Running::start(server.point(&mut place.kiln(RUN)));
    let post = server.next();
    batch.interrupt();
    batch.until("stopping:");
    batch.interrupt();
    batch.until("stopping now:");
    (batch, post)
}

#[test]
fn the_response_to_a_submission_in_flight_is_recorded() {
    let (place, server) = (Place::new(), Server::new());
    let (batch, post) = interrupted_in_flight(&place, &server);
    post.respond(200, &server.accepted("a1"));
    let (code, _, said) = batch.end();
    assert_eq!(code, 130, "{said}");
    let status = place.run("batch status --ledger pictures --json").ok().json();
    assert_eq!(status["states"], json!({ "queued": 1, "submitted": 1 }));
}

#[test]
fn a_submission_without_a_response_is_unknown() {
    let (place, server) = (Place::new(), Server::new());
    let (batch, _post) = interrupted_in_flight(&place, &server);
    let (code, _, said) = batch.end();
    assert_eq!(code, 8, "{said}");
    assert_shown!("abandoned", said);
    let status = place.run("batch status --ledger pictures --json").ok().json();
    assert_eq!(status["states"], json!({ "queued": 1, "unknown": 1 }));
}
