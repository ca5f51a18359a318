//! `kiln batch`. This file has the tests of `run --dry-run`, which reads jobs and prints the plan.

#[cfg(unix)]
mod advance;
pub mod ledgers;
#[cfg(unix)]
mod managing;
#[cfg(unix)]
mod reconciling;
mod resolving;
pub mod runs;
mod seeds;
mod spending;
#[cfg(unix)]
pub mod stopping;
#[cfg(unix)]
pub mod unrecorded;
mod upright;
mod webhooks;

use serde_json::json;

use crate::{
    assert_shown,
    bench::{Bench, Outcome, Place, Words as _, png},
};

const PLAN: [&str; 5] = ["batch", "run", "--dry-run", "--output", "pictures"];

/// Neither a key nor a service is set, so nothing can be sent.
fn plan(place: &Place, arguments: &[&str]) -> Outcome {
    place.run(&[&PLAN[..], arguments].concat())
}

#[test]
fn the_plan_of_a_file() {
    let place = Place::new();
    place.write("cat.png", png(64, 64));
    place.write(
        "jobs.jsonl",
        "{\"prompt\":\"a red fox\",\"seed\":1}\n\
         {\"prompt\":\"a hat\",\"input_image\":\"cat.png\",\"model\":\"gen-2-flex\"}\n\
         {\"prompt\":\"a red fox\",\"seed\":2,\"name\":\"fox\",\"target\":\"foxes/2.{ext}\"}\n",
    );
    assert_shown!("plan", plan(&place, &["jobs.jsonl", "--width", "128"]).ok().text());
    let priced = plan(&place, &["jobs.jsonl", "--price", "4", "--json"]).ok().json();
    assert_shown!("plan_json", format!("{priced:#}"));
    assert_eq!(place.files(), ["cat.png", "jobs.jsonl"], "a plan changes nothing");
}

#[test]
fn the_plan_of_a_matrix() {
    let place = Place::new();
    place.write("prompts.txt", "a red fox\na cat\n");
    let line = "--prompt-file prompts.txt --prompt 'a dog' --seed 1..8 --output-format png \
                --model gen-2-pro,gen-2-flex --names {date}/{model}/{slug}.{ext} --price 0.5";
    assert_shown!("plan_matrix", plan(&place, &line.words()).ok().text());
}

#[test]
fn standard_input_needs_a_format() {
    let bench = Bench::new();
    let words = |more: &[&'static str]| [&PLAN[..], &["-"], more].concat();
    let jobs = b"prompt,seed\na red fox,1\n\"a\ncat\",\n";
    let outcome = bench.run_with_stdin(&words(&["--format", "csv", "--json"]), jobs).ok();
    assert_eq!(outcome.events()[0]["message"], "waiting for jobs on standard input");
    assert_eq!(outcome.json()["jobs"], 2);
    let failure = bench.run_with_stdin(&words(&[]), jobs).fails(2);
    assert_eq!(
        failure.stderr,
        "error: the format of standard input is not known\n\
         advice: nothing was sent; add --format jsonl, csv, tsv or text\n"
    );
}

#[test]
fn bad_lines_are_reported_together() {
    let place = Place::new();
    let lines = "{\"prompt\":\"a\"}\n{\"promt\":\"a\",\"width\":16}\nfox\n".to_owned();
    place.write("jobs.jsonl", lines + &"{}\n".repeat(20));
    let outcome = plan(&place, &["jobs.jsonl"]).fails(2);
    assert_eq!(outcome.text(), "");
    assert_shown!("bad_lines", outcome.stderr);
    let error = plan(&place, &["jobs.jsonl", "--json"]).fails(2).error();
    assert_eq!(error["kind"], "validation");
    assert_eq!(error["problems"].as_array().unwrap().len(), 4);
    assert_eq!(error["more_problems"], 0);
    let message = "width: is 16; must be at least 64";
    assert_eq!(
        error["problems"][2],
        json!({ "file": "jobs.jsonl", "line": 2, "message": message })
    );
}

#[test]
fn a_published_list_says_what_was_made_of_it() {
    let place = Place::new();
    place.write("list.tsv", "Caption\tSplit\tSource id\na \"red\" fox\ttest\t7\n");
    let outcome = plan(&place, &["list.tsv", "--quiet"]).ok();
    assert_eq!(outcome.stderr, "");
    let outcome = plan(&place, &["list.tsv"]).ok();
    assert_eq!(
        outcome.stderr,
        "the prompts of list.tsv are `Caption`\n\
         not sent, but kept as metadata of the jobs: `Split`, `Source id`\n"
    );
    let words = ["list.tsv", "--prompt-column", "Split", "--json"];
    let named = plan(&place, &words).ok().json();
    assert!(named["first"][0]["name"].as_str().unwrap().starts_with("test-"), "{named}");

    place.write("list.txt", "# animals\na red fox\n# places\n");
    let outcome = plan(&place, &["list.txt"]).ok();
    let warning = "warning: line 1 of list.txt and 1 more begin with `#`: each makes a picture, \
                   unless you pass --skip-comments\n";
    assert_eq!(outcome.stderr, warning);
    let skipped = plan(&place, &["list.txt", "--skip-comments", "--json"]).ok();
    assert_eq!((&skipped.json()["jobs"], skipped.stderr.as_str()), (&1.into(), ""));
    let outcome = plan(&place, &["--prompt-file", "list.txt"]).ok();
    assert_eq!(outcome.stderr, warning);

    place.write("list.txt", "a red fox\ra cat\r");
    let outcome = plan(&place, &["list.txt"]).fails(2);
    assert!(outcome.stderr.contains("list.txt:1: contains a carriage return"), "{outcome:?}");
}

#[test]
fn flags_are_defaults_of_a_file() {
    let place = Place::new();
    place.write("jobs.txt", "a red fox\n");
    let names = |words: &[&str]| plan(&place, words).ok().json()["first"][0]["name"].clone();
    let plain = names(&["jobs.txt", "--json"]);
    for flags in [
        &["--seed", "7"][..],
        &["--seed=-7"],
        &["--width", "64"],
        &["--disable-pup", "true"],
        &["--extra", "steps=3"],
    ] {
        let words = [&["jobs.txt", "--json"], flags].concat();
        assert_ne!(names(&words), plain, "{flags:?}");
    }
    plan(&place, &["jobs.txt", "--input-image", "cat.png"])
        .fails(2)
        .says("could not read the image cat.png");
}
