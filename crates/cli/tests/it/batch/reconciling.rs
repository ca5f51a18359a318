//! `kiln batch reconcile`: decisions from the usage that the service reports.

use serde_json::{Value, json};

use super::{
    ledgers::{batch, named},
    resolving::without_times,
};
use crate::{
    assert_shown,
    bench::{Bench, Outcome},
};

/// The usage is complete from a day ago until any submission has arrived.
const COMPLETE: [&str; 4] = ["--complete-from", "1d", "--complete-until", "2099-01-01"];

/// Runs jobs with these names, which are their prompts, too.
fn run(bench: &Bench, names: &[&str]) -> Outcome {
    let jobs: Vec<_> = names
        .iter()
        .map(|name| json!({ "name": name, "prompt": name, "model": "gen-2-pro" }).to_string())
        .collect();
    bench.place.write("jobs.jsonl", jobs.join("\n"));
    bench.run("batch run jobs.jsonl --output pictures")
}

/// Runs jobs whose responses are lost, before or after the service has accepted them.
fn lose(bench: &Bench, names: &[&str], fault: &str) {
    bench.simulator.faults().add(fault).unwrap();
    run(bench, names).fails(8);
    bench.simulator.faults().clear();
}

/// A ledger with a saved job, two jobs whose responses were lost, and two that never arrived.
fn with_unknown() -> Bench {
    let bench = Bench::new();
    run(&bench, &["fox"]).ok();
    lose(&bench, &["lost-1", "lost-2"], "reply-lost@submission:2x");
    lose(&bench, &["never-1", "never-2"], "error-before@submission:2x");
    bench
}

/// Writes the usage of the simulator to a file.
fn export(bench: &Bench, query: &str) {
    let url = format!("{}/api/usage{query}", bench.simulator.control_url());
    bench.shell(&format!("curl --silent --show-error '{url}' > usage")).ok();
}

fn reconcile(bench: &Bench, more: &[&str]) -> Outcome {
    batch(bench, &[&["reconcile", "usage"], more].concat())
}

/// The decisions by the names of the jobs.
fn decisions(reconciled: &Outcome) -> Vec<(String, String)> {
    let jobs = reconciled.json()["jobs"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let jobs = jobs.as_array().unwrap().iter();
    jobs.map(|job| (text(&job["name"]), text(&job["decision"]))).collect()
}

#[test]
fn the_usage_decides_and_nothing_is_paid_for_twice() {
    let bench = with_unknown();
    let unknown = named(&bench, "unknown");
    assert_eq!(unknown.len(), 4);
    export(&bench, "");
    let dry = reconcile(&bench, &[&COMPLETE[..], &["--dry-run", "--json"]].concat()).ok();
    let outcome = |name: &String| if name.starts_with("never") { "not_paid" } else { "task" };
    let all: Vec<_> = unknown.iter().map(|name| (name.clone(), outcome(name).to_owned())).collect();
    assert_eq!(decisions(&dry), all);
    assert_eq!((&dry.json()["entries"], &dry.json()["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(named(&bench, "unknown"), unknown, "a dry run changes nothing");
    let done = reconcile(&bench, &[&COMPLETE[..], &["--json"]].concat()).ok();
    assert_eq!(decisions(&done), all);
    bench.run("batch run --output pictures").ok();
    assert_eq!(named(&bench, "saved").len(), 5);
    assert_eq!(bench.simulator.counts().accepted, 5);
    assert_eq!(decisions(&reconcile(&bench, &["--json"]).ok()), []);
}

#[test]
fn what_the_usage_does_not_prove_is_left() {
    let bench = with_unknown();
    let unknown = named(&bench, "unknown");
    // Without tasks, and with nothing after the last submission.
    export(&bench, "?format=json");
    let mut usage: Value = serde_json::from_slice(&bench.place.read("usage")).unwrap();
    for entry in usage["usage"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("task_id");
    }
    bench.place.write("usage", usage.to_string());
    let reconciled = reconcile(&bench, &["--json"]).fails(10);
    let outcome = |name: &String| if name.starts_with("never") { "left" } else { "paid" };
    let all: Vec<_> = unknown.iter().map(|name| (name.clone(), outcome(name).to_owned())).collect();
    assert_eq!(decisions(&reconciled), all);
    assert_eq!(reconciled.error()["kind"], "jobs_left");
    assert_eq!(named(&bench, "failed").len(), 2);
    // Without prompts, the saved job and both others may be each of the entries.
    let bench = with_unknown();
    bench.place.write("usage", usage.to_string().replace("\"prompt\"", "\"p\""));
    let reconciled = reconcile(&bench, &COMPLETE).fails(10);
    assert_eq!(named(&bench, "unknown").len(), 4);
    assert_shown!("left", without_times(&reconciled.text()));
}

#[test]
fn a_task_of_another_submission_is_no_evidence() {
    let bench = Bench::new();
    run(&bench, &["fox"]).ok();
    lose(&bench, &["never-1"], "error-before@submission:1x");
    bench.run("generate never-1 --model gen-2-pro --output single.png").ok();
    export(&bench, "");
    let unknown = named(&bench, "unknown");
    let words = [&COMPLETE[..], &["--json"]].concat();
    let dry = reconcile(&bench, &[&words[..], &["--dry-run"]].concat()).ok();
    assert_eq!(decisions(&dry), [("never-1".to_owned(), "not_paid".to_owned())]);
    // A task that the service does not know.
    let tasks = bench.simulator.tasks();
    let task = &tasks.iter().find(|task| task.prompt == "never-1").unwrap().id;
    let usage = String::from_utf8(bench.place.read("usage")).unwrap();
    bench.place.write("usage", usage.replace(task, "f55b1875-b617-433c-b4b2-74d24bee779b"));
    let left = reconcile(&bench, &words).fails(10).json();
    assert_eq!(left["jobs"][0]["decision"], "left");
    let reason = left["jobs"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("task f55b1875-b617-433c-b4b2-74d24bee779b: "), "{reason}");
    assert_eq!(named(&bench, "unknown"), unknown);
}

#[test]
fn a_file_that_is_no_usage_changes_nothing() {
    let bench = with_unknown();
    bench.place.write("usage", "when,what\n2026-11-20T08:15:09Z,gen-2-pro\n");
    let refused = reconcile(&bench, &[]).fails(2);
    assert_shown!("no_usage", refused.stderr);
    let named_columns = ["--column", "time=when", "--column", "model=what", "--dry-run"];
    reconcile(&bench, &named_columns).fails(10);
    batch(&bench, "reconcile missing").fails(1);
    assert_eq!(named(&bench, "unknown").len(), 4);
}
