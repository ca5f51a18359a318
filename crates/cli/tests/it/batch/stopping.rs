//! Batches that are killed, interrupted, or run twice.

use std::{
    io::{BufRead as _, BufReader},
    process::{ChildStdout, Command},
};

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{AGES, Bench, Place},
    running::{Running, resume_command},
    server::Server,
};

/// Each job is submitted only after the picture of the one before is saved.
pub const RUN: [&str; 15] = [
    "batch",
    "run",
    "--output",
    "pictures",
    "--names",
    "{index}.{ext}",
    "--width",
    "64",
    "--height",
    "64",
    "--prompt",
    "a fox",
    "--prompt",
    "a wolf",
    "--max-active=1",
];

/// A running batch, whose lines are read one by one.
pub struct RunningBatch {
    pub run: Running,
    lines: BufReader<ChildStdout>,
}

impl RunningBatch {
    pub fn start(command: &mut Command) -> Self {
        let mut run = Running::start(command);
        let lines = BufReader::new(run.child.stdout.take().unwrap());
        Self { run, lines }
    }

    /// Reads lines until a job is in this state.
    pub fn until(&mut self, state: &str) {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "ended without {state}");
            let states = [format!("\"state\":\"{state}\""), format!(": {state}")];
            if states.iter().any(|state| line.contains(state)) {
                return;
            }
        }
    }
}

#[test]
fn a_killed_batch_is_resumed() {
    let bench = Bench::ready_after(AGES);
    let mut batch = RunningBatch::start(&mut bench.kiln(&RUN));
    batch.until("submitted");
    batch.run.child.kill().unwrap();
    batch.run.child.wait().unwrap();
    bench.simulator.clock().advance(AGES);
    let mut batch = RunningBatch::start(&mut bench.kiln(&RUN));
    batch.until("saved");
    batch.until("submitted");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = batch.run.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(bench.simulator.counts().accepted, 2);
    for name in ["pictures/1.jpg", "pictures/2.jpg"] {
        assert!(bench.place.path(name).is_file());
    }
}

#[test]
fn the_first_interruption_ends_the_active_jobs() {
    let bench = Bench::ready_after(AGES);
    let mut batch = RunningBatch::start(&mut bench.kiln(&RUN));
    batch.until("submitted");
    let status = bench.run(&["batch", "status", "--ledger", "pictures"]).ok().text();
    assert!(status.contains("submitted"), "{status}");
    let locked = bench.run(&RUN).fails(1);
    let owner = format!("is already open in process {};", batch.run.child.id());
    assert!(locked.stderr.contains(&owner), "{}", locked.stderr);
    batch.run.interrupt();
    batch.run.until("stopping:");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = batch.run.end();
    assert_eq!(code, 130, "{said}");
    assert_shown!("stopped", said);
    assert_eq!(bench.simulator.counts().accepted, 1);
    let mut resumed = bench.shell_command(resume_command(&said));
    let mut batch = RunningBatch::start(&mut resumed);
    batch.until("submitted");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = batch.run.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn the_second_interruption_leaves_the_active_jobs() {
    let bench = Bench::ready_after(AGES);
    let words = [&RUN[..], &["--json"]].concat();
    let mut batch = RunningBatch::start(&mut bench.kiln(&words));
    batch.until("submitted");
    batch.run.interrupt();
    batch.run.until("stopping");
    batch.run.interrupt();
    let (code, _, said) = batch.run.end();
    assert_eq!(code, 130, "{said}");
    let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(error["message"], "interrupted: 2 of 2 jobs are not saved: 1 queued, 1 submitted");
    assert_eq!((&error["kind"], &error["exit_code"]), (&json!("interrupted"), &json!(130)));
    bench.simulator.clock().advance(AGES);
    let mut resumed = bench.shell_command(error["resume"].as_str().unwrap());
    let mut batch = RunningBatch::start(&mut resumed);
    batch.until("saved");
    assert_eq!(bench.simulator.counts().charged.hundredths(), 300, "no job is paid for twice");
    batch.run.child.kill().unwrap();
    batch.run.child.wait().unwrap();
}

/// A batch whose first submission has no response yet, and that was interrupted twice.
fn interrupted_in_flight(
    place: &Place,
    server: &Server,
) -> (RunningBatch, crate::server::Exchange) {
    let mut batch = RunningBatch::start(server.point(&mut place.kiln(&RUN)));
    let post = server.next();
    batch.run.interrupt();
    batch.run.until("stopping:");
    batch.run.interrupt();
    batch.run.until("stopping now:");
    (batch, post)
}

#[test]
fn the_response_to_a_submission_in_flight_is_recorded() {
    let (place, server) = (Place::new(), Server::new());
    let (batch, post) = interrupted_in_flight(&place, &server);
    let polling_url = format!("{}/v1/get_result?id=a1", server.url());
    post.respond(200, &json!({ "id": "a1", "polling_url": polling_url, "cost": 4 }));
    let (code, _, said) = batch.run.end();
    assert_eq!(code, 130, "{said}");
    let status = place.run(&["batch", "status", "--ledger", "pictures", "--json"]).ok().json();
    assert_eq!(status["states"], json!({ "queued": 1, "submitted": 1 }));
}

#[test]
fn a_submission_without_a_response_is_unknown() {
    let (place, server) = (Place::new(), Server::new());
    let (batch, _post) = interrupted_in_flight(&place, &server);
    let (code, _, said) = batch.run.end();
    assert_eq!(code, 8, "{said}");
    assert_shown!("abandoned", said);
    let status = place.run(&["batch", "status", "--ledger", "pictures", "--json"]).ok().json();
    assert_eq!(status["states"], json!({ "queued": 1, "unknown": 1 }));
}
