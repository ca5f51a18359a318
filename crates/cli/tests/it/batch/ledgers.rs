//! `kiln batch status`, `jobs` and `resolve`.

use std::{collections::HashSet, fs};

use serde_json::json;

use super::runs::{RUN, run};
use crate::{
    assert_shown,
    bench::{Bench, Outcome, Words},
};

/// Runs a command on the ledger of the pictures.
pub fn batch<W: Words + ?Sized>(bench: &Bench, words: &W) -> Outcome {
    bench.run(&[&["batch"], &*words.words(), &["--ledger", "pictures"]].concat())
}

/// The names of the jobs in a state.
pub fn named(bench: &Bench, state: &str) -> Vec<String> {
    let status = batch(bench, &["status", "--json", "--state", state]).ok().json();
    let jobs = status["listed"].as_array().unwrap();
    jobs.iter().map(|job| job["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_unknown_job_runs_again_after_it_is_resolved() {
    let bench = Bench::new();
    bench.simulator.faults().add("reset@submission:2x").unwrap();
    run(&bench, &["a fox", "a wolf"], &["--max-active", "1"]).fails(8);
    let unknown = named(&bench, "unknown");
    let [fox, wolf] = &unknown[..] else { panic!("{unknown:?}") };
    let advice = batch(&bench, "status").ok().text();
    let advice = &advice[advice.find("unknown jobs may have been billed").unwrap()..];
    assert_shown!("unknown", advice);
    batch(&bench, &["resolve", fox]).fails(2);
    batch(&bench, &["resolve", fox, "--paid", "--not-paid"]).fails(2);
    let resolved = batch(&bench, &["resolve", fox, "--not-paid"]).ok();
    assert_eq!(resolved.text(), "1 job resolved as not paid; expected price: unknown\n");
    let resolved = batch(&bench, &["resolve", wolf, "--paid", "--json"]).ok().json();
    assert_eq!(resolved["names"]["resolved"], serde_json::json!([wolf]));
    let again = batch(&bench, &["resolve", fox, "--paid"]).fails(10);
    let expected = format!("error: 1 job was left out: `{fox}` is queued, not unknown\n");
    assert!(again.stderr.starts_with(&expected), "{}", again.stderr);
    bench.run("batch run --output pictures").fails(4);
    assert_eq!(bench.simulator.counts().accepted, 1);
    assert_eq!(named(&bench, "saved"), [&fox[..]]);
}

#[test]
fn a_job_continues_with_the_task_that_a_person_found() {
    let bench = Bench::new();
    bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    run(&bench, &["a fox"], &[]).fails(8);
    let [fox] = named(&bench, "unknown").try_into().unwrap();
    let [task] = bench.simulator.tasks().try_into().unwrap();
    batch(&bench, &["resolve", &fox, "--task", &task.id, "--paid"]).fails(2);
    batch(&bench, &["resolve", &fox, "--task", "no-such-task"])
        .fails(1)
        .says("does not know the task no-such-task");
    let resolved = batch(&bench, &["resolve", &fox, "--task", &task.id]).ok();
    assert_eq!(resolved.text(), format!("{fox}: submitted\n"));
    bench.run("batch run --output pictures").ok();
    assert_eq!((named(&bench, "saved"), bench.simulator.counts().accepted), (vec![fox], 1));
}

#[test]
fn a_removed_ledger_pays_again_only_if_a_person_says_so() {
    let bench = Bench::new();
    let prompts = ["a fox", "a wolf"];
    run(&bench, &prompts, &[]).ok();
    std::fs::remove_file(bench.place.path("pictures/.kiln-batch.db")).unwrap();
    let refused = run(&bench, &[&prompts[..], &["an owl"]].concat(), &[]).fails(8);
    let pictures = bench.place.path("pictures");
    assert_shown!("foreign", refused.stderr.replace(pictures.to_str().unwrap(), "/PICTURES"));
    let error = run(&bench, &prompts, &["--json"]).fails(8).error();
    assert_eq!((&error["kind"], &error["resume"]), (&"foreign".into(), &serde_json::Value::Null));
    assert_eq!(bench.simulator.counts().accepted, 2);
    let adopted = bench.run("batch adopt --output pictures").ok().text();
    assert_eq!(adopted.lines().count(), 2, "{adopted}");
    bench.run("batch run --output pictures").ok();
    assert_eq!((named(&bench, "saved").len(), bench.simulator.counts().accepted), (3, 3));
    std::fs::remove_file(bench.place.path("pictures/.kiln-batch.db")).unwrap();
    run(&bench, &["a hare"], &["--pay-again"]).ok();
    assert_eq!(bench.simulator.counts().accepted, 4);
}

#[test]
fn jobs_are_retried_by_name_or_state() {
    let bench = Bench::new();
    let prompts = ["a fox", "a wolf [[error]]", "an owl [[error]]", "a hare [[request-moderated]]"];
    run(&bench, &prompts, &[]).fails(5);
    let failed = named(&bench, "failed");
    let queued = batch(&bench, &["jobs", "retry", &failed[1]]).ok();
    assert_eq!(queued.text(), "1 job retried\n");
    let queued = batch(&bench, "jobs retry --state failed,moderated --json").ok().json();
    assert_eq!(queued, json!({ "event": "retried", "jobs": 2 }));
    assert_eq!(named(&bench, "queued").len(), 3);
    batch(&bench, &["jobs", "retry", &named(&bench, "saved")[0]])
        .fails(2)
        .says("is saved, not damaged");
    batch(&bench, "jobs retry --state saved").fails(2);
    batch(&bench, "jobs retry").fails(2);
    run(&bench, &prompts, &[]).fails(5);
    assert_eq!(bench.simulator.counts().accepted, 7);
}

#[test]
fn forgotten_jobs_leave_the_ledger_and_keep_their_pictures() {
    let bench = Bench::new();
    run(&bench, &["a fox", "a wolf", "an owl [[error]]"], &[]).fails(4);
    let failed = named(&bench, "failed");
    let removed = batch(&bench, &["jobs", "forget", &failed[0]]).ok();
    assert_eq!(removed.text(), "1 job removed\n");
    bench.run("batch run --output pictures").ok();
    let removed = batch(&bench, "jobs forget --state saved --json").ok().json();
    assert_eq!(removed, json!({ "event": "removed", "jobs": 2 }));
    assert_eq!(batch(&bench, "status").ok().text(), "the ledger contains no jobs\n");
    assert!(bench.place.path("pictures/2.jpg").is_file());
    let unknown = batch(&bench, "jobs forget fox").fails(2);
    assert_eq!(unknown.stderr, "error: the ledger has no job `fox`\nadvice: nothing was changed\n");
}

#[test]
fn the_status_lists_what_is_selected() {
    let bench = Bench::new();
    run(&bench, &["a fox", "a wolf [[error]]"], &[]).fails(4);
    let all = batch(&bench, "status --all --json").ok().json();
    assert_eq!(all["listed"].as_array().unwrap().len(), 2);
    assert_eq!((&all["jobs"], &all["credits"]), (&2.into(), &6.0.into()));
    let saved = batch(&bench, "status --state saved").ok().text();
    assert!(saved.contains(": saved pictures/1.jpg (3.00 credits)"), "{saved}");
    assert!(!saved.contains("retry"), "{saved}");
    let later = batch(&bench, "status --all --sent-before 1h --json").ok().json();
    assert_eq!((&later["listed"], &later["jobs"]), (&json!([]), &2.into()));
}

#[test]
fn a_long_list_has_every_job_once() {
    /// More than a page.
    const MANY: usize = 1_001;
    let bench = Bench::new();
    let prompts: Vec<_> = (0..MANY).map(|number| format!("fox {number}")).collect();
    bench.place.write("jobs.txt", prompts.join("\n"));
    bench.place.run("batch run jobs.txt --output pictures --add-only").ok();
    let status = batch(&bench, "status --state queued --json").ok().json();
    let listed = status["listed"].as_array().unwrap();
    let names: HashSet<_> = listed.iter().map(|job| job["name"].as_str().unwrap()).collect();
    assert_eq!((listed.len(), names.len()), (MANY, MANY));
    let lines = batch(&bench, "status --state queued").ok().text();
    assert_eq!(lines.lines().filter(|line| line.ends_with(": queued")).count(), MANY);
    bench.place.write("names", names.into_iter().take(7).collect::<Vec<_>>().join("\n"));
    let cancelled = batch(&bench, "jobs cancel --from names").ok().text();
    assert_eq!(cancelled, "7 jobs cancelled\n");
    for refused in [&["jobs", "forget", "--all"][..], &["jobs", "forget", "--model", "gen-2-pro"]] {
        batch(&bench, refused).fails(2).says("pass --state");
    }
    let removed = batch(&bench, "jobs forget --all --state cancelled").ok().text();
    assert_eq!(removed, "7 jobs removed\n");
}

#[test]
fn the_report_links_the_pictures() {
    let bench = Bench::new();
    run(&bench, &["a <fox>", "a wolf [[error]]"], &[]).fails(4);
    let words = ["batch", "run", "-o", "pictures", "--prompt", "a white fox", "--group", "white"];
    let size = ["--names", "a b/{seed}.{ext}", "--seed", "4711", "--width", "64", "--height", "64"];
    bench.run(&[&words[..], &size].concat()).fails(4);
    let written = batch(&bench, "report").ok();
    assert_eq!(written.text(), "pictures/report.html\n");
    let page = String::from_utf8(bench.place.read("pictures/report.html")).unwrap();
    for part in ["<title>pictures", "a \\u003cfox>", "\"./1.jpg\"", "data:image/", "failed"] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["a white fox", "\"4711\"", "\"./a%20b/4711.jpg\"", "`Error`"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("data:image/jpeg;base64,").count(), 2);
    fs::remove_file(bench.place.path("pictures/a b/4711.jpg")).unwrap();
    batch(&bench, "report --group white").ok();
    let page = String::from_utf8(bench.place.read("pictures/report.html")).unwrap();
    assert!(page.contains("a white fox") && page.contains("the file was not found"), "{page}");
    assert!(!page.contains("a \\u003cfox>") && !page.contains("data:image/"), "{page}");
    let written = batch(&bench, "report -o page.html --json").ok().json();
    assert_eq!(written["path"], "page.html");
    let page = String::from_utf8(bench.place.read("page.html")).unwrap();
    assert!(page.contains("\"./pictures/1.jpg\""));
    batch(&bench, "report -o nowhere/page.html").fails(1).says("could not write nowhere/page.html");
    let mut files = bench.place.files();
    files.retain(|name| name != "jobs.txt");
    assert_eq!(files, ["page.html", "pictures"]);
}

#[test]
fn the_ledgers_of_a_user_are_remembered_once() {
    let bench = Bench::new();
    let known = || {
        let lines = fs::read_to_string(bench.place.state("ledgers")).unwrap_or_default();
        let lines = lines.lines().filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    bench.place.write("jobs.txt", "a fox");
    bench.run_with(&[("KILN_NO_HISTORY", "1")], &[&RUN[..], &["jobs.txt"]].concat()).ok();
    assert!(known().is_empty());
    run(&bench, &["a fox"], &[]).ok();
    run(&bench, &["a wolf"], &["--ledger", "./pictures/.kiln-batch.db"]).ok();
    run(&bench, &["an owl"], &["--ledger", "owls.db", "--add-only"]).ok();
    let path = |name: &str| json!({ "file": fs::canonicalize(bench.place.path(name)).unwrap() });
    assert_eq!(known(), [path("pictures/.kiln-batch.db"), path("owls.db")]);
}
