//! `--deadline` bounds the whole command, and each error says whether anything was charged.

use std::{net::TcpListener, process::Command, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    bench::{AGES, Bench, Outcome, Place, fox},
    server::Server,
};
use imagekiln_testbed::ClosedPort;

/// Longer than a deadline of two seconds and the time for a response, even if the machine is busy.
/// Without the deadline, the commands would take 30 seconds or more.
const MOST: Duration = Duration::from_secs(20);

#[track_caller]
fn ends(command: &mut Command, code: i32) -> Outcome {
    let started = Instant::now();
    let outcome = Outcome::of_run(command).fails(code);
    assert!(started.elapsed() < MOST, "{:?}: {}", started.elapsed(), outcome.stderr);
    outcome
}

fn two_seconds<'a>(words: &[&'a str]) -> Vec<&'a str> {
    fox(&[words, &["--deadline", "2", "--json"]].concat())
}

#[track_caller]
fn assert_not_charged(place: &Place, error: &Value) {
    assert_eq!((&error["may_have_been_billed"], &error["task"]), (&json!(false), &Value::Null));
    assert!(error["advice"].as_str().unwrap().starts_with("nothing was"), "{error}");
    assert_eq!(states(place), [""; 0], "nothing is left in the history");
}

/// The states of the submissions in the history, newest first.
fn states(place: &Place) -> Vec<String> {
    let listed = place.run("history --json").ok().lines();
    listed.iter().map(|line| line["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_request_without_a_response_is_unknown_after_the_grace() {
    let (place, server) = (Place::new(), Server::new());
    let outcome = ends(server.point(&mut place.kiln(&two_seconds(&[]))), 8);
    server.next();
    let error = outcome.error();
    assert_eq!(
        (&error["kind"], &error["may_have_been_billed"]),
        (&json!("deadline"), &json!(true))
    );
    let advice = error["advice"].as_str().unwrap();
    assert!(advice.contains("`kiln task resolve @1 ID`"), "{advice}");
    assert!(advice.contains("`kiln task dismiss @1`"), "{advice}");
    assert_eq!(states(&place), ["unknown"]);
    place.run("task dismiss @1").ok();
    assert_eq!(states(&place), ["dismissed"]);
}

#[test]
fn nothing_is_charged_if_no_connection_is_made() {
    let (place, port) = (Place::new(), ClosedPort::reserve());
    let at = |url: String| {
        let mut command = place.kiln(&two_seconds(&[]));
        command.env("IMAGEKILN_API_KEY", "a-key").env("IMAGEKILN_BASE_URL", url);
        ends(&mut command, 7).error()
    };
    assert_not_charged(&place, &at(port.url()));

    // It accepts connections, but does not speak TLS.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = at(format!("https://{}", silent.local_addr().unwrap()));
    assert_eq!(error["kind"], "deadline");
    assert!(error["advice"].as_str().unwrap().ends_with("allow more time with --deadline"));
    assert_not_charged(&place, &error);
}

#[test]
fn a_service_that_stays_busy_is_tried_until_the_deadline() {
    let bench = Bench::new();
    bench.simulator.faults().add("rate-limited@submission=0").unwrap();
    let error = ends(&mut bench.kiln(&two_seconds(&[])), 7).error();
    assert_eq!(error["kind"], "rate_limited");
    assert_not_charged(&bench.place, &error);
    let attempts = bench.simulator.requests().len();
    assert!(attempts > 1, "{attempts}");
}

/// Five pictures, of which two can be active.
#[test]
fn pictures_that_had_no_turn_are_not_submitted() {
    let bench = Bench::ready_after(AGES);
    bench.place.configure("max_active = 2\ndeadline = '2s'\n");
    let outcome = ends(&mut bench.kiln(&fox(&["-n", "5", "-o", "."])), 6);
    assert!(
        outcome.stderr.ends_with(
            "advice: `kiln resume` saves the 2 whose tasks continue; 3 were not submitted and \
             cost nothing\n"
        ),
        "{}",
        outcome.stderr
    );
    assert_eq!(bench.simulator.counts().accepted, 2);
    bench.simulator.clock().advance(AGES);
    assert_eq!(bench.run("resume").ok().text().lines().count(), 2);
}

#[test]
fn the_status_of_a_task_has_a_deadline_too() {
    let (place, server) = (Place::new(), Server::new());
    let mut command = place.kiln("task status a1 --deadline 1 --json");
    let error = ends(server.point(&mut command), 6).error();
    assert_eq!((&error["kind"], &error["task"]["id"]), (&json!("deadline"), &json!("a1")));
}
