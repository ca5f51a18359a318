//! `kiln batch resolve`: decisions about many jobs at once.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::ledgers::{batch, named};
use crate::{assert_shown, bench::Bench};

/// A ledger with a saved job, and four jobs whose responses were lost.
fn with_unknown(bench: &Bench) {
    let job = |name: &str, model: &str, group: &str| {
        let job = json!({ "name": name, "model": model, "group": group, "prompt": "a fox\nsits" });
        format!("{job}\n")
    };
    let run = |jobs: &[String]| {
        bench.place.write("jobs.jsonl", jobs.concat());
        bench.run("batch run jobs.jsonl --output pictures")
    };
    run(&[job("saved", "gen-2-pro", "anna")]).ok();
    bench.simulator.faults().add("reply-lost@submission:4x").unwrap();
    run(&[
        job("anna-1", "gen-2-pro", "anna"),
        job("anna-2", "gen-2-flex", "anna"),
        job("ben-1", "gen-2-pro", "ben"),
        job("ben-2", "gen-2-pro", "ben"),
    ])
    .fails(8);
}

/// A text with the same time in place of each time.
pub fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.len() == 20 && word.starts_with("20") && word.ends_with('Z');
    let words =
        text.split(' ').map(|word| if is_time(word) { "2026-11-20T08:15:09Z" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_list_has_what_a_person_compares() {
    let bench = Bench::new();
    with_unknown(&bench);
    let listed = batch(&bench, "status --state unknown").ok().text();
    assert_shown!("list", without_times(&listed));
    let listed = batch(&bench, "status --all --json").ok().json()["listed"].clone();
    let facts = |at: usize| {
        let job = &listed[at];
        (&job["name"], &job["prompt"], &job["expected_credits"], job["sent_at"].is_u64())
    };
    let prompt = Value::from("a fox\nsits");
    assert_eq!(facts(1), (&"anna-1".into(), &prompt, &4.0.into(), true));
    assert_eq!(facts(2), (&"anna-2".into(), &prompt, &Value::Null, true));
    batch(&bench, "resolve anna-1 --not-paid").ok();
    let queued = batch(&bench, "status --state queued --json").ok().json();
    assert_eq!(queued["listed"][0]["sent_at"], Value::Null);
}

#[test]
fn unknown_jobs_are_resolved_together() {
    let bench = Bench::new();
    with_unknown(&bench);
    let all = ["resolve", "--all", "--not-paid", "--dry-run"];
    let counted = batch(&bench, &all).ok().text();
    assert_eq!(
        counted,
        "4 jobs would be resolved as not paid; expected price: 12.00 credits, and 1 job of unknown \
         price\n"
    );
    let flex = ["resolve", "--model", "gen_2_flex", "--group", "anna", "--paid", "--dry-run"];
    let counted = batch(&bench, &flex).ok().text();
    assert_eq!(counted, "1 job would be resolved as paid; expected price: unknown\n");
    for (words, jobs) in [
        (&["--sent-before", "1h"][..], 0),
        (&["--sent-after", "1h"], 4),
        (&["--sent-after", "2026-11-20T08:15:09Z", "--group", "ben"], 2),
        (&["ben-1", "--model", "gen-2-flex"], 0),
    ] {
        let words = [&["resolve", "--paid", "--dry-run", "--json"], words].concat();
        assert_eq!(batch(&bench, &words).ok().json()["jobs"], jobs, "{words:?}");
    }
    assert_eq!(named(&bench, "unknown").len(), 4, "a dry run changes nothing");

    let done = batch(&bench, "resolve --group anna --not-paid --json").ok().json();
    let expected = json!({
        "event": "resolved", "dry_run": false, "decision": "not_paid",
        "jobs": 2, "credits": 4.0, "without_price": 1, "left_out": 0,
        "names": { "resolved": ["anna-1", "anna-2"], "held": [], "changed": [] },
    });
    assert_eq!(done, expected);
    let done = batch(&bench, "resolve --all --paid").ok().text();
    assert_eq!(done, "2 jobs resolved as paid; expected price: 8.00 credits\n");
    bench.run("batch run --output pictures").fails(4);
    assert_eq!(named(&bench, "saved"), ["saved", "anna-1", "anna-2"]);
    assert_eq!((named(&bench, "failed").len(), bench.simulator.counts().accepted), (2, 7));
}

#[test]
fn jobs_of_a_file_are_resolved_and_the_others_left_out() {
    let bench = Bench::new();
    with_unknown(&bench);
    let saved = batch(&bench, "status --state saved --json").ok().json();
    let task = saved["listed"][0]["task_id"].as_str().unwrap();
    let lines = format!("anna-1\n\n  ben-1\r\n{task}\n");
    let words = ["batch", "resolve", "--ledger", "pictures", "--not-paid", "--from", "-"];
    let counted = bench.run_with_stdin(&[&words[..], &["--dry-run"]].concat(), lines.as_bytes());
    assert!(counted.fails(10).text().starts_with("2 jobs would be resolved as not paid"));
    assert_eq!(named(&bench, "unknown").len(), 4);
    bench.place.write("names.txt", lines);
    let outcome = batch(&bench, "resolve --not-paid --from names.txt anna-2 --json").fails(10);
    let names = &outcome.json()["names"];
    assert_eq!(names["resolved"], json!(["anna-1", "anna-2", "ben-1"]));
    assert_eq!((&names["changed"], &outcome.json()["left_out"]), (&json!(["saved"]), &1.into()));
    assert_eq!(outcome.error()["kind"], "jobs_left");
    let again = batch(&bench, "resolve --paid --from names.txt").fails(10).stderr;
    assert!(
        again.starts_with(
            "error: 3 jobs were left out: `saved` is saved, not unknown, `anna-1` is queued"
        ),
        "{again}"
    );
    assert_eq!(named(&bench, "unknown"), ["ben-2"]);

    // An empty file selects nothing.
    bench.place.write("names.txt", "\n");
    let none = batch(&bench, "resolve --paid --from names.txt --json").ok().json();
    assert_eq!(none["jobs"], 0);
    bench.place.write("names.txt", "ben-2\nben-3\n");
    let unknown = batch(&bench, "resolve --paid --from names.txt").fails(2).stderr;
    let expected = "error: the ledger has no job `ben-3`\nadvice: nothing was changed\n";
    assert_eq!(unknown, expected);
    assert_eq!(named(&bench, "unknown"), ["ben-2"]);
}

/// The worker of a job lost its lease.
#[test]
fn a_job_that_may_still_be_sent_is_left_out() {
    let bench = Bench::new();
    with_unknown(&bench);
    let ledger = Connection::open(bench.place.path("pictures/.kiln-batch.db")).unwrap();
    let hold = "UPDATE submissions SET hold_until = 9000000000000
        WHERE id = (SELECT submission FROM jobs WHERE name = 'ben-1')";
    assert_eq!(ledger.execute(hold, []).unwrap(), 1);
    drop(ledger);
    for words in [&["--dry-run"][..], &[]] {
        let words = [&["resolve", "--group", "ben", "--not-paid", "--json"], words].concat();
        let outcome = batch(&bench, &words).fails(10);
        let names = &outcome.json()["names"];
        assert_eq!((&names["resolved"], &names["held"]), (&json!(["ben-2"]), &json!(["ben-1"])));
        let error = outcome.error();
        assert_eq!(error["message"], "1 job was left out: `ben-1` may still be sent");
        assert!(error["advice"].as_str().unwrap().contains("after at most 15 minutes"), "{error}");
    }
    assert_eq!(named(&bench, "unknown"), ["anna-1", "anna-2", "ben-1"]);
}

#[test]
fn damaged_jobs_are_resolved_by_their_names() {
    let bench = Bench::new();
    with_unknown(&bench);
    let job = json!({ "name": "owl", "prompt": "an owl [[damaged:always]]" });
    bench.place.write("jobs.jsonl", format!("{job}\n"));
    bench.run("batch run jobs.jsonl --output pictures").fails(8);
    assert_eq!(named(&bench, "damaged"), ["owl"]);
    let done = batch(&bench, "resolve owl ben-1 --paid --dry-run").ok().text();
    assert_eq!(done, "2 jobs would be resolved as paid; expected price: 8.00 credits\n");
    let left = batch(&bench, "resolve owl ben-1 --not-paid --json").fails(10);
    assert_eq!(left.json()["names"]["changed"], json!(["owl"]));
    let left = batch(&bench, "resolve owl ben-2 --damaged --json").fails(10);
    assert_eq!(left.json()["names"]["resolved"], json!(["owl"]));
    let message = "1 job was left out: `ben-2` is unknown, not damaged";
    assert_eq!(left.error()["message"], message);
    assert_eq!(named(&bench, "saved"), ["saved", "owl"]);
}

#[test]
fn decisions_that_contradict_each_other() {
    let bench = Bench::new();
    with_unknown(&bench);
    for words in [
        &["--paid"][..],
        &["--all"],
        &["--all", "--paid", "--not-paid"],
        &["--all", "--paid", "anna-1"],
        &["--all", "--paid", "--sent-after", "1h"],
        &["--all", "--damaged"],
        &["--all", "--task", "a1"],
        &["--task", "a1"],
        &["anna-1", "anna-2", "--task", "a1"],
        &["anna-1", "--task", "a1", "--dry-run"],
        &["--paid", "--sent-after", "soon"],
        &["--paid", "--model", "fox"],
    ] {
        let outcome = batch(&bench, &[&["resolve"], words].concat());
        assert_eq!(outcome.code, 2, "{words:?} {}", outcome.stderr);
    }
    batch(&bench, "resolve --paid --from nothing.txt").fails(1);
    assert_eq!(named(&bench, "unknown").len(), 4);
}
