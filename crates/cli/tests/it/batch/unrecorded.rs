//! A ledger that fails after its batch has submitted jobs.

use std::{path::Path, thread};

use rusqlite::Connection;
use serde_json::Value;

use super::stopping::RUN;
use crate::{
    bench::{Bench, Outcome, kind_of},
    running::Running,
};

/// Every write after the intents fails, as on a full disk.
const FULL: &str = "CREATE TRIGGER full BEFORE UPDATE ON submissions
    BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";

fn execute(ledger: &Path, sql: &str) {
    Connection::open(ledger).unwrap().execute_batch(sql).unwrap();
}

/// Runs two jobs, and makes their ledger fail before their responses arrive.
pub fn run_into_a_full_ledger(bench: &Bench, more: &str) -> Outcome {
    bench.simulator.faults().add("slow-headers@submission=2:always").unwrap();
    let line = RUN.replace("--max-active=1", more);
    let running = Running::start(&mut bench.kiln(&line));
    while bench.simulator.counts().accepted < 2 {
        thread::yield_now();
    }
    execute(&bench.place.path("pictures/.kiln-batch.db"), FULL);
    let (code, stdout, stderr) = running.end();
    Outcome { code, stdout: stdout.into_bytes(), stderr }
}

#[test]
fn tasks_that_the_ledger_could_not_record_are_printed_with_a_command_that_saves_them() {
    let bench = Bench::new();
    let outcome = run_into_a_full_ledger(&bench, "").fails(8);
    let lines: Vec<_> =
        outcome.stderr.lines().filter(|line| line.starts_with("not recorded: ")).collect();
    assert_eq!(lines.len(), 2, "{}", outcome.stderr);
    for task in bench.simulator.tasks() {
        let line = lines.iter().find(|line| line.contains(&task.id)).unwrap();
        assert!(line.contains("of gen-2-pro;"), "{line}");
        let (_, command) = line.split_once("save its picture with: ").unwrap();
        bench.shell(&format!("{command} --output {}.jpg", task.id)).ok();
        kind_of(&bench.place.read(&format!("{}.jpg", task.id)));
    }
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn programs_find_unrecorded_tasks_in_the_error() {
    let bench = Bench::new();
    let outcome = run_into_a_full_ledger(&bench, "--json").fails(8);
    let error = outcome.error();
    let ids = |tasks: &Value| -> Vec<String> {
        let tasks = tasks.as_array().unwrap().iter();
        let mut ids: Vec<_> = tasks.map(|task| task["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let mut charged: Vec<_> = bench.simulator.tasks().into_iter().map(|task| task.id).collect();
    charged.sort();
    assert_eq!(ids(&error["tasks"]), charged);
    assert_eq!(error["may_have_been_billed"], true);
    assert!(charged.contains(&error["task"]["id"].as_str().unwrap().to_owned()));
    let printed = outcome.events().into_iter().filter(|event| event["event"] == "not_recorded");
    assert_eq!(ids(&printed.map(|event| event["task"].clone()).collect()), charged);
}
