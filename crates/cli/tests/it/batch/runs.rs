//! `kiln batch run`, to its end.

use serde_json::Value;

use super::ledgers::named;
use crate::{
    assert_shown,
    bench::{Bench, Outcome, Place, kind_of},
};

pub const RUN: [&str; 8] =
    ["batch", "run", "--output", "pictures", "--names", "{index}.{ext}", "--size", "64x64"];

/// A file with these prompts, and the words that run it.
pub fn run(bench: &Bench, prompts: &[&str], more: &[&str]) -> Outcome {
    bench.place.write("jobs.txt", prompts.join("\n"));
    bench.run(&[&RUN[..], &["jobs.txt"], more].concat())
}

#[test]
fn every_picture_is_saved_once() {
    let bench = Bench::new();
    let foxes = ["a red fox", "a red fox", "a grey fox"];
    let outcome = run(&bench, &foxes, &["--quiet"]).ok();
    assert_shown!("report", outcome.text());
    assert_eq!(outcome.stderr, "");
    let outcome = run(&bench, &[&foxes[..], &["a wolf"]].concat(), &["--json"]).ok();
    let events = outcome.lines();
    assert!(events.iter().all(|event| event["event"].is_string()));
    let (report, jobs) = events.split_last().unwrap();
    assert_eq!((&report["event"], &report["states"]["saved"]), (&"report".into(), &4.into()));
    let states: Vec<_> = jobs.iter().map(|job| job["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["submitted", "ready", "saved"], "only the new job runs");
    for index in 1..=4 {
        kind_of(&std::fs::read(bench.place.path(&format!("pictures/{index}.jpg"))).unwrap());
    }
    assert_eq!(bench.simulator.counts().accepted, 4);
}

#[test]
fn the_options_reach_the_batch() {
    let bench = Bench::new();
    let words = ["--max-active", "1", "--ledger", "foxes.db"];
    run(&bench, &["a fox", "a wolf"], &words).ok();
    assert!(bench.place.path("foxes.db").is_file());
    assert!(!bench.place.path("pictures/.kiln-batch.db").exists());
    for (option, value) in [("--max-active", "0"), ("--budget", "-1")] {
        run(&bench, &["an owl"], &[option, value]).fails(2);
    }
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn jobs_that_end_without_a_picture() {
    let bench = Bench::new();
    let prompts = ["a fox", "a wolf [[error]]", "an owl [[request-moderated]]"];
    let outcome = run(&bench, &prompts, &[]).fails(5);
    assert_shown!("failed", outcome.stderr);
    assert_shown!("status", bench.run("batch status --ledger pictures").ok().text());
    let error = run(&bench, &prompts, &["--json"]).fails(5).error();
    assert_eq!((&error["kind"], &error["resume"]), (&"jobs_failed".into(), &Value::Null));
    assert_eq!(bench.simulator.counts().accepted, 3, "no job is paid for again");
}

#[test]
fn a_pause_of_many_jobs_has_one_line() {
    let prompts: Vec<_> = (0..8).map(|number| format!("fox {number}")).collect();
    let prompts: Vec<_> = prompts.iter().map(String::as_str).collect();
    // On a slow machine, it takes more than one pause.
    for (flags, lines) in [(&[][..], 1..=4), (&["--json"], 1..=4), (&["--quiet"], 0..=0)] {
        let bench = Bench::new();
        bench.simulator.faults().add("rate-limited@submission=2:1x").unwrap();
        bench.simulator.faults().add("error-before@poll=503:8x").unwrap();
        let outcome = run(&bench, &prompts, flags).ok();
        let noted = outcome.stderr.lines().filter(|line| line.contains("the service ")).count();
        assert!(lines.contains(&noted), "{}", outcome.stderr);
        assert!(!outcome.text().contains("the service "), "{}", outcome.text());
        assert_eq!(bench.simulator.counts().accepted, 8);
    }
}

#[test]
fn a_budget_leaves_jobs_for_later_runs() {
    let bench = Bench::new();
    let prompts = ["a fox", "a wolf", "an owl"];
    let outcome = run(&bench, &prompts, &["--budget", "7", "--price", "3"]).fails(10);
    assert_shown!("budget", outcome.stderr);
    assert_eq!(bench.simulator.counts().accepted, 2);
    bench.run("batch run --output pictures --budget 9").ok();
    assert_eq!(bench.simulator.counts().accepted, 3);
}

#[test]
fn nothing_runs_if_a_line_is_invalid() {
    let bench = Bench::new();
    bench.place.write(
        "jobs.jsonl",
        "{\"prompt\":\"a fox\"}\n{\"prompt\":\"a fox\",\"target\":\"{sed}.png\"}\n\
         {\"prompt\":\"a fox\",\"target\":\"../fox.png\"}\n{\"prompt\":7}\n",
    );
    let outcome = bench.run(&[&RUN[..], &["jobs.jsonl"]].concat()).fails(2);
    assert_shown!("bad_targets", outcome.stderr);
    assert_eq!(bench.simulator.counts().accepted, 0);
}

#[test]
fn a_run_without_jobs_continues_a_ledger() {
    let bench = Bench::new();
    bench.place.write("jobs.txt", "a fox\na wolf\n");
    // `--quiet`: a slow machine would also print a note that the run is paused.
    let words = [&RUN[..], &["jobs.txt", "--max-active", "1", "--quiet"]].concat();
    let refused = bench.run_with(&[("IMAGEKILN_API_KEY", "wrong")], &words).fails(3);
    assert_shown!("wrong_key", refused.stderr);
    bench.run("batch run --output pictures").ok();
    assert_eq!(bench.simulator.counts().accepted, 2);
    for words in [&["--width", "64"][..], &["--seed", "1"], &["--dry-run"], &["--names", "a.png"]] {
        let outcome = bench.run(&[&["batch", "run", "--output", "pictures"], words].concat());
        assert!(outcome.fails(2).stderr.contains("no jobs given"), "{words:?}");
    }
    bench.run("batch run --output elsewhere").fails(2).says("no jobs given");
    assert!(!bench.place.path("elsewhere").exists());
}

#[test]
fn settings_are_checked_before_the_ledger_is_created() {
    let bench = Bench::new();
    let words = [&RUN[..], &["--prompt", "a fox"]].concat();
    let outcome = bench.place.run(&words).fails(2);
    assert!(outcome.stderr.contains("the API key and the base URL are not set"));
    assert_eq!(bench.place.files(), [""; 0]);
    bench.run("batch run --prompt 'a fox' --output s3://foxes").fails(2).says("no ledger given");
    assert_eq!(bench.place.files(), [""; 0]);
}

#[test]
fn a_plan_uses_the_prices_of_the_ledger() {
    let bench = Bench::new();
    let plan = |more: &[&str]| run(&bench, &["a fox", "a wolf"], more).ok().json();
    let dry_run = ["--dry-run", "--json", "--price", "1"];
    assert_eq!(plan(&dry_run)["credits"], 2.0);
    assert_eq!(bench.place.files(), ["jobs.txt"]);
    run(&bench, &["a fox"], &[]).ok();
    let second = plan(&dry_run);
    assert_eq!((&second["credits"], &second["submitted_before"]), (&3.0.into(), &1.into()));
    run(&bench, &["an owl"], &["--add-only"]).ok();
    assert_eq!(plan(&dry_run)["queued_before"], 1);
    assert_shown!("plan_of_the_rest", run(&bench, &["a fox", "a wolf"], &["--dry-run"]).text());
}

#[test]
fn a_simulated_batch() {
    let bench = Bench::new();
    bench.place.run(&[&RUN[..], &["--prompt", "a fox", "--simulate"]].concat()).ok();
    kind_of(&bench.place.read("pictures/1.jpg"));
    // Placeholders must not pass for pictures that were paid.
    let refused = run(&bench, &["a fox", "an owl"], &[]).fails(2).stderr;
    assert!(refused.contains("belongs to a simulator, so its pictures are placeholders"));
    assert_eq!((bench.simulator.counts().accepted, named(&bench, "saved").len()), (0, 1));
    assert!(named(&bench, "queued").is_empty(), "no job was added");
}

#[test]
fn a_ledger_belongs_to_one_service() {
    let (bench, other) = (Bench::new(), Bench::new());
    // Its task is not found, so the job stays submitted.
    run(&bench, &["a fox [[spurious-not-found@poll:always]]"], &[]).fails(6);
    let refused = bench.run("batch run --output pictures --simulate").fails(2).stderr;
    let service = bench.simulator.base_url();
    assert!(refused.contains(&format!("belongs to the service {service}")), "{refused}");
    let service = [
        ("IMAGEKILN_BASE_URL", other.simulator.base_url()),
        ("IMAGEKILN_API_KEY", other.simulator.api_key()),
    ];
    let refused = bench.run_with(&service, "batch run --output pictures --json").fails(2);
    assert_eq!(refused.events().last().unwrap()["kind"], "elsewhere");
    assert!(other.simulator.requests().is_empty());
    assert_eq!(named(&bench, "submitted").len(), 1);
}

/// A simulator in the process ends with it.
#[test]
fn a_new_simulator_does_not_have_the_tasks_of_an_earlier_one() {
    let place = Place::new();
    let prompt = "a fox [[spurious-not-found@poll:always]]";
    place.run(&[&RUN[..], &["--prompt", prompt, "--simulate"]].concat()).fails(6);
    assert_shown!(
        "simulated_again",
        place.run("batch run --output pictures --simulate").fails(2).stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_fails_at_the_end() {
    let bench = Bench::new();
    let words = RUN.join(" ").replace("{index}", "'{index}'");
    let said = bench.shell(&format!("kiln {words} --prompt fox --prompt owl > /dev/full"));
    said.fails(1).says("could not write to standard output");
    assert_eq!(named(&bench, "saved").len(), 2);
}

#[cfg(not(any(feature = "postgres", feature = "s3")))]
#[test]
fn missing_features_are_named() {
    let bench = Bench::new();
    let words =
        |output, ledger| ["batch", "run", "--prompt", "a", "-o", output, "--ledger", ledger];
    let outcome = bench.run(&words("foxes", "postgres://ann:SECRET@localhost/foxes")).fails(2);
    outcome.says("Cargo feature `postgres`");
    assert!(!outcome.stderr.contains("SECRET"), "{}", outcome.stderr);
    bench.run(&words("s3://foxes", "foxes.db")).fails(2).says("Cargo feature `s3`");
}

#[test]
fn a_ledger_that_may_contain_a_password_is_not_quoted() {
    let bench = Bench::new();
    for ledger in
        ["mysql://ann:SECRET@db/foxes", "\"postgres://SECRET\"", "host=db password=SECRET"]
    {
        let run = ["batch", "run", "--prompt", "a", "-o", "foxes", "--ledger", ledger];
        for words in [&run[..], &["batch", "status", "--ledger", ledger]] {
            let outcome = bench.run(words).fails(2);
            assert!(outcome.says("postgres:// URL").stderr.find("SECRET").is_none(), "{words:?}");
        }
    }
}
