//! Limits and other changes while a run has the ledger open.

use std::{thread, time::Duration};

use serde_json::json;

use super::{
    ledgers::{batch, named},
    runs,
    stopping::RUN,
};
use crate::{
    assert_shown,
    bench::{AGES, Bench},
    running::{Running, resume_command},
    server::exchange,
};

/// Runs one job at a time: the next one is submitted when the simulator's clock has advanced.
fn start(bench: &Bench, more: &[&str]) -> Running {
    Running::start(&mut bench.kiln(&[&runs::RUN[..], &["--max-active=1"], more].concat()))
}

/// Two jobs of anna, and then one of ben.
fn write_groups(bench: &Bench) {
    let job = |name: &str, group: &str| {
        let metadata = json!({ "order": 7 });
        json!({ "name": name, "group": group, "metadata": metadata, "prompt": "a fox" })
    };
    let jobs = [job("anna-1", "anna"), job("anna-2", "anna"), job("ben-1", "ben")];
    bench.place.write("jobs.jsonl", jobs.map(|job| format!("{job}\n")).concat());
}

#[test]
fn a_paused_run_submits_nothing_until_it_is_resumed() {
    let bench = Bench::ready_after(AGES);
    let mut run = Running::start(&mut bench.kiln(RUN));
    run.until_state("submitted");
    let paused = batch(&bench, "limits --pause").ok().text();
    assert_eq!(paused, "the ledger: paused; 3.00 credits; 1 active task\n");
    bench.simulator.clock().advance(AGES);
    run.until_state("saved");
    let note = run.until("paused: ");
    assert_eq!(
        note,
        "paused: the ledger; `kiln batch limits --unpause --ledger pictures/.kiln-batch.db` \
         continues\n"
    );
    thread::sleep(Duration::from_secs(2));
    assert_eq!(bench.simulator.counts().accepted, 1);
    let (_, command) = note.split_once('`').unwrap();
    let resumed = bench.shell(command.split('`').next().unwrap()).ok();
    assert_eq!(resumed.text(), "the ledger has no limits\n");
    run.until_state("submitted");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = run.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn queued_jobs_are_cancelled_and_moved_up() {
    let bench = Bench::ready_after(AGES);
    write_groups(&bench);
    let mut run = start(&bench, &["jobs.jsonl"]);
    run.until_state("submitted");
    let refused = batch(&bench, "jobs cancel anna-2 anna-1").fails(2);
    assert_eq!(
        refused.stderr,
        "error: job `anna-1` is submitted, not queued\nadvice: nothing was changed\n"
    );
    let unknown = batch(&bench, "jobs priority 1 ben-2").fails(2);
    let expected = "error: the ledger has no job `ben-2`\nadvice: nothing was changed\n";
    assert_eq!(unknown.stderr, expected);
    for words in [
        &["jobs", "cancel"][..],
        &["jobs", "cancel", "anna-2", "--all"],
        &["jobs", "priority", "--all"],
    ] {
        batch(&bench, words).fails(2);
    }
    assert_eq!(named(&bench, "queued"), ["anna-2", "ben-1"]);
    let listed = batch(&bench, "status --all --json").ok().json()["listed"][2].clone();
    assert_eq!((&listed["group"], &listed["metadata"]), (&"ben".into(), &json!({ "order": 7 })));
    let changed = batch(&bench, "jobs priority -1 --group ben --json").ok().json();
    assert_eq!(changed, json!({ "event": "priority", "jobs": 1, "priority": -1 }));
    let changed = batch(&bench, "jobs priority 5 --model gen_2_pro").ok().text();
    assert_eq!(changed, "the priority of 2 jobs is 5\n");
    let cancelled = batch(&bench, "jobs cancel --group anna --model gen-2-pro").ok();
    assert_eq!(cancelled.text(), "1 job cancelled\n");
    bench.simulator.clock().advance(AGES);
    run.until_state("saved");
    run.until_state("submitted");
    let cancelled = batch(&bench, "jobs cancel --all").ok().text();
    assert_eq!(cancelled, "0 jobs cancelled\n");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = run.end();
    assert_eq!(code, 0, "cancelled jobs are no failure: {said}");
    assert_eq!(named(&bench, "saved"), ["anna-1", "ben-1"]);
    let retried = batch(&bench, "jobs retry --state cancelled").ok().text();
    assert_eq!(retried, "1 job retried\n");
    batch(&bench, "jobs cancel anna-2").ok();
    let removed = batch(&bench, "jobs forget --state cancelled").ok().text();
    assert_eq!(removed, "1 job removed\n");
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn a_budget_of_a_group_holds_for_a_run_that_is_open() {
    let bench = Bench::ready_after(AGES);
    write_groups(&bench);
    let mut run = start(&bench, &["jobs.jsonl"]);
    run.until_state("submitted");
    let set = batch(&bench, "limits --budget 3 --group anna").ok();
    assert_eq!(set.text(), "the group `anna`: 3.00 of 3.00 credits; 1 active task\n");
    bench.simulator.clock().advance(AGES);
    run.until_state("saved");
    run.until_state("submitted");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = run.end();
    assert_eq!(code, 10, "{said}");
    assert_shown!("budget_of_a_group", said);
    assert_eq!(named(&bench, "queued"), ["anna-2"]);
    let set = batch(&bench, "limits --budget none --group anna").ok();
    assert_eq!(set.text(), "the ledger has no limits\n");
    let mut run = Running::start(&mut bench.kiln("batch run --output pictures"));
    run.until_state("submitted");
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = run.end();
    assert_eq!((code, bench.simulator.counts().accepted), (0, 3), "{said}");
}

#[test]
fn a_budget_of_the_ledger_is_named_when_it_is_used_up() {
    let bench = Bench::new();
    bench.run(&[&runs::RUN[..], &["--prompt", "a fox"]].concat()).ok();
    batch(&bench, "limits --budget 3").ok();
    let said = bench.run(RUN).fails(10).stderr;
    let advice = "advice: the budget of the ledger is used up: 3.00 of 3.00 credits are spent or \
                  reserved, and the submission may cost 3.00; `kiln batch limits --budget` raises \
                  it";
    assert!(said.contains(advice), "{said}");
}

#[test]
fn a_job_is_resolved_while_a_run_is_open() {
    let bench = Bench::ready_after(AGES);
    bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    let mut run = Running::start(&mut bench.kiln(RUN));
    run.until_state("unknown");
    run.until_state("submitted");
    let [unknown] = named(&bench, "unknown").try_into().unwrap();
    let tasks = bench.simulator.tasks().into_iter();
    let lost = tasks.min_by_key(|task| task.accepted_at).unwrap();
    let resolved = batch(&bench, &["resolve", &unknown, "--task", &lost.id]).ok().text();
    assert_eq!(resolved, format!("{unknown}: submitted\n"));
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = run.end();
    assert_eq!((code, bench.simulator.counts().accepted), (0, 2), "{said}");
}

#[test]
fn limits_are_listed_with_what_counts_for_them() {
    let bench = Bench::ready_after(AGES);
    write_groups(&bench);
    let mut run = start(&bench, &["jobs.jsonl"]);
    run.until_state("submitted");
    assert_eq!(batch(&bench, "limits").ok().text(), "the ledger has no limits\n");
    let set = batch(&bench, "limits --max-active 4 --json").ok().json();
    let limit = json!({
        "scope": "ledger",
        "name": null,
        "paused": false,
        "budget": null,
        "max_active": 4,
        "rate": null,
        "credits": 3.0,
        "without_cost": 0,
        "active": 1,
    });
    let expected = json!({ "event": "limits", "limits": [limit], "prices": [], "outages": [] });
    assert_eq!(set, expected);
    batch(&bench, "limits --budget 12.5 --group anna").ok();
    batch(&bench, "limits --budget 20 --max-active 2 --each-group").ok();
    batch(&bench, "limits --pause --rate 30 --model gen_2_flex").ok();
    let set = batch(&bench, "limits --pause --group bob").ok();
    assert_eq!(set.stderr, "the ledger has no jobs of the group `bob`\n");
    assert_shown!("limits", batch(&bench, "limits").ok().text());
    let limits = batch(&bench, "limits --json").ok().json();
    assert_eq!(limits["limits"][1]["name"], "gen-2-flex");
    let words = ["limits", "--unpause", "--budget", "9", "--rate", "none", "--model", "gen-2-flex"];
    let resumed = batch(&bench, &words).ok().text();
    let model = "the operation `gen-2-flex`: 0.00 of 9.00 credits; 0 active tasks\n";
    assert!(resumed.contains(model), "{resumed}");
    assert!(resumed.contains("the group `bob`: paused"), "{resumed}");
    for words in [
        &["--budget", "much"][..],
        &["--budget"],
        &["--max-active", "-1"],
        &["--rate", "0"],
        &["--rate", "1", "--each-group"],
        &["--pause", "--each-group"],
        &["--pause", "--unpause"],
        &["--pause", "--model", "fox"],
        &["--pause", "--model", "gen-2-pro", "--group", "anna"],
        &["--max-active", "1", "--group", "anna", "--each-group"],
        &["--pause", "--group", ""],
        // They do not select what is listed.
        &["--group", "anna"],
        &["--price", "gen-2-pro=4", "--model", "gen-2-pro"],
    ] {
        batch(&bench, &[&["limits"], words].concat()).fails(2);
    }
    assert_eq!(batch(&bench, "limits").ok().text(), resumed, "nothing was changed");
}

fn get(address: &str, path: &str) -> (u16, String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    exchange(address, &request)
}

#[test]
fn a_run_serves_metrics() {
    let bench = Bench::ready_after(AGES);
    write_groups(&bench);
    let mut run = start(&bench, &["jobs.jsonl", "--metrics", "127.0.0.1:0"]);
    let note = run.until("metrics: ");
    let url = note.trim().strip_prefix("metrics: http://").unwrap();
    let address = url.strip_suffix("/metrics").unwrap();
    run.until_state("submitted");
    batch(&bench, "limits --budget 6 --group anna").ok();
    let (status, head, metrics) = get(address, "/metrics");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert_eq!((status, get(address, "/").0), (200, 404));
    for sample in [
        r#"jobs{state="queued",operation="gen-2-pro"} 2"#,
        r#"jobs{state="submitted",operation="gen-2-pro"} 1"#,
        r#"credits_total{operation="gen-2-pro"} 3"#,
        r#"active_tasks{scope="ledger",name=""} 1"#,
        r#"budget_credits{scope="group",name="anna"} 6"#,
        r#"paused{scope="ledger",name=""} 0"#,
    ] {
        assert!(metrics.contains(&format!("\nimagekiln_batch_{sample}\n")), "{sample} {metrics}");
    }
    let taken = bench.run(&format!("{RUN} --metrics {address} --ledger other.db"));
    assert!(taken.fails(1).stderr.contains("choose another address with --metrics"));
    run.interrupt();
    run.until("stopping: ");
    run.interrupt();
    let (_, _, said) = run.end();
    assert!(resume_command(&said).contains("--metrics 127.0.0.1:0"), "{said}");
}
