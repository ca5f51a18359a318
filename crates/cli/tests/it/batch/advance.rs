//! `kiln batch advance`, as the programs of a queue call it.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{AGES, Bench, Outcome},
    running::Running,
};

/// Adds jobs of a text file, and returns their names.
fn add(bench: &Bench, prompts: &[&str]) -> Vec<String> {
    bench.place.write("jobs.txt", prompts.join("\n"));
    let words = ["batch", "run", "jobs.txt", "-o", "pictures", "--width", "64", "--height", "64"];
    let added = bench.place.run(&[&words[..], &["--add-only", "--json"]].concat()).ok().lines();
    let names = added.iter().map(|job| {
        assert_eq!(job["state"], "queued", "{job}");
        job["name"].as_str().unwrap().to_owned()
    });
    names.collect()
}

fn words<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["batch", "advance", name, "--output", "pictures"], more].concat()
}

fn advance(bench: &Bench, name: &str, more: &[&str]) -> Outcome {
    bench.run(&words(name, more))
}

fn manage(bench: &Bench, command: &[&str]) {
    bench.run(&[&["batch"], command, &["--ledger", "pictures"]].concat()).ok();
}

/// Whether another process has opened the ledger.
fn is_open(bench: &Bench, name: &str) -> bool {
    let other = advance(bench, name, &["--wait=0", "--json"]).fails(13).json();
    if other["job"].is_null() {
        assert_eq!(other["wait"], 1.0);
        assert_eq!(other["reason"], "another process has opened the ledger");
    }
    other["job"].is_null()
}

/// Starts a call that waits for the task of its job.
fn waiting(bench: &Bench, name: &str) -> Running {
    let run = Running::start(&mut bench.kiln(&words(name, &["--wait", "1h"])));
    while bench.run("batch status --ledger pictures --json").ok().json()["states"]["submitted"] != 1
        || !is_open(bench, name)
    {
        thread::sleep(Duration::from_millis(20));
    }
    run
}

#[test]
fn calls_drive_a_job_to_its_picture() {
    let bench = Bench::ready_after(AGES);
    let names = add(&bench, &["a fox", "a wolf"]);
    assert_eq!(add(&bench, &["a fox", "a wolf"]), names);
    let fox = &names[0];
    let later = advance(&bench, fox, &["--wait", "3", "--json"]).fails(13);
    let (result, error) = (later.json(), later.error());
    assert_eq!((&result["ended"], &result["job"]["state"]), (&json!(false), &json!("submitted")));
    assert_eq!((&error["kind"], &error["exit_code"]), (&json!("later"), &json!(13)));
    let later = advance(&bench, fox, &["--wait=0"]).fails(13);
    assert_shown!("later", format!("{}{}", later.text(), later.stderr));
    bench.simulator.clock().advance(AGES);
    for _ in 0..2 {
        let saved = advance(&bench, fox, &["--json"]).ok().json();
        assert_eq!((&saved["ended"], &saved["wait"]), (&json!(true), &Value::Null));
        assert_eq!(saved["job"]["state"], "saved");
        assert!(fs::exists(saved["job"]["location"].as_str().unwrap()).unwrap());
    }
    assert_eq!(bench.simulator.counts().accepted, 1, "the other job is not submitted");
}

#[test]
fn another_call_continues_after_a_kill_and_pays_once() {
    let bench = Bench::ready_after(AGES);
    let names = add(&bench, &["a fox"]);
    let killed = waiting(&bench, &names[0]);
    killed.kill();
    bench.simulator.clock().advance(AGES);
    let saved = advance(&bench, &names[0], &[]).ok().text();
    assert!(saved.contains(": saved pictures/"), "{saved}");
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn an_interrupted_call_gives_its_job_back() {
    let bench = Bench::ready_after(AGES);
    let names = add(&bench, &["a fox"]);
    for signal in ["-INT", "-TERM"] {
        let mut run = waiting(&bench, &names[0]);
        run.signal(signal);
        run.until("the job is given back");
        let (code, stdout, said) = run.end();
        assert_eq!(code, 130, "{said}");
        assert_shown!("interrupted", format!("{stdout}{said}"));
    }
    bench.simulator.clock().advance(AGES);
    advance(&bench, &names[0], &[]).ok();
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn a_job_that_is_held_back_is_for_later() {
    let bench = Bench::new();
    let names = add(&bench, &["a fox"]);
    manage(&bench, &["limits", "--pause"]);
    let later = advance(&bench, &names[0], &["--json"]).fails(13);
    assert_shown!("paused", format!("{:#}", later.json()["reason"]));
    assert_eq!(later.json()["wait"], 30.0);
    advance(&bench, &names[0], &["--wait", "3"]).fails(13);
    let run = Running::start(&mut bench.kiln(&words(&names[0], &["--wait", "2m"])));
    while !is_open(&bench, &names[0]) {}
    run.interrupt();
    let (code, _, said) = run.end();
    assert_eq!(code, 130, "{said}");
    manage(&bench, &["limits", "--unpause"]);
    advance(&bench, &names[0], &["--wait", "1m"]).ok();
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn the_exit_code_is_that_of_the_outcome() {
    let bench = Bench::new();
    let names = add(&bench, &["a wolf [[error]]", "an owl [[request-moderated]]"]);
    let failed = advance(&bench, &names[0], &[]).fails(4);
    assert_shown!("failed", failed.stderr);
    let moderated = advance(&bench, &names[1], &["--json"]).fails(5);
    assert_eq!(moderated.json()["ended"], true);
    assert_eq!(moderated.error()["kind"], "jobs_failed");
    let missing = advance(&bench, "nobody", &[]).fails(2);
    assert_shown!("missing", missing.stderr);
    let nowhere = bench.run("batch advance fox --output nowhere").fails(2);
    assert!(nowhere.stderr.contains("there is no ledger at"), "{nowhere:?}");
    bench.simulator.faults().add("reply-lost@submission:1x").unwrap();
    let names = add(&bench, &["a cat"]);
    let later = advance(&bench, &names[0], &["--json"]).fails(13);
    let unknown = later.json();
    assert_eq!((&unknown["job"]["state"], &unknown["wait"]), (&json!("unknown"), &json!(60.0)));
    let advice = later.error()["advice"].to_string();
    assert!(advice.contains("check your usage") && advice.contains("--not-paid"), "{advice}");
}

#[test]
fn a_failure_says_that_the_job_has_not_ended() {
    let bench = Bench::ready_after(AGES);
    let names = add(&bench, &["a fox"]);
    bench.place.write("file", "");
    let words = ["batch", "advance", &names[0], "--output", "file", "--ledger", "pictures"];
    advance(&bench, &names[0], &["--wait", "3"]).fails(13);
    bench.simulator.clock().advance(AGES);
    let failed = bench.run(&[&words[..], &["--json"]].concat()).fails(1);
    let result = failed.json();
    assert_eq!((&result["ended"], &result["job"]["credits"]), (&json!(false), &json!(3.0)));
    assert_eq!(failed.error()["kind"], "file");
    advance(&bench, &names[0], &[]).ok();
    assert_eq!(bench.simulator.counts().accepted, 1);
}
