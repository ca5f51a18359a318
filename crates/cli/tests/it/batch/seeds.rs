//! The seeds of jobs that do not set one.

use std::collections::HashSet;

use serde_json::Value;

use super::{ledgers::batch, runs::run};
use crate::bench::Bench;

const FOXES: [&str; 3] = ["a red fox", "a red fox", "a grey fox"];

fn description(bench: &Bench, picture: &str) -> Value {
    serde_json::from_slice(&bench.place.read(&format!("{picture}.json"))).unwrap()
}

#[test]
fn a_job_without_a_seed_gets_one_that_depends_on_its_name() {
    let bench = Bench::new();
    let plan = run(&bench, &FOXES, &["--dry-run", "--json"]).ok().json();
    let jobs = plan["first"].as_array().unwrap();
    let seeds: Vec<u64> = jobs.iter().map(|job| job["seed"].as_u64().unwrap()).collect();
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2], "{seeds:?}");
    assert!(seeds.iter().all(|seed| *seed < 1 << 31), "{seeds:?}");
    run(&bench, &FOXES, &[]).ok();
    for (index, seed) in (1..).zip(&seeds) {
        assert_eq!(description(&bench, &format!("pictures/{index}.jpg"))["seed"], *seed);
    }
    batch(&bench, "report").ok();
    let page = String::from_utf8(bench.place.read("pictures/report.html")).unwrap();
    assert!(seeds.iter().all(|seed| page.contains(&format!("\"{seed}\""))));
    run(&bench, &FOXES, &[]).ok();
    assert_eq!(bench.simulator.counts().accepted, 3);
    bench.place.write("null.jsonl", r#"{"prompt":"a fox","extra":{"seed":null}}"#);
    let plan = bench.run("batch run null.jsonl -o pictures --dry-run --json").ok().json();
    assert_eq!(plan["first"][0]["seed"], Value::Null);
}

#[test]
fn a_job_is_made_as_often_as_the_user_wants_and_gets_the_next_names() {
    let bench = Bench::new();
    let words = ["batch", "run", "jobs.txt", "-o", "pictures", "--dry-run", "--json"];
    bench.place.write("jobs.txt", "a red fox\na wolf\n");
    let plan = |more: &[&'static str]| bench.run(&[&words[..], more].concat());
    let jobs = |more: &[&'static str]| -> Vec<[String; 2]> {
        let plan = plan(more).ok().json();
        let text = |job: &Value| [&job["name"], &job["seed"]].map(Value::to_string);
        plan["first"].as_array().unwrap().iter().map(text).collect()
    };
    let (one, two) = (jobs(&[]), jobs(&["-n", "2"]));
    assert_eq!((one.len(), two.len()), (2, 4));
    assert_eq!([&two[0], &two[2]], [&one[0], &one[1]], "they are not paid for again");
    let names: Vec<_> = two.iter().map(|[name, _]| name.trim_matches('"')).collect();
    let second = format!("{}-2", names[0]);
    assert_eq!(names[1], second);
    let seeds: HashSet<_> = two.iter().map(|[_, seed]| seed).collect();
    assert_eq!(seeds.len(), 4);
    bench.place.write("jobs.jsonl", r#"{"name":"fox","prompt":"a fox"}"#);
    let named = ["batch", "run", "jobs.jsonl", "-n2", "-o", "pictures", "--dry-run", "--json"];
    let named = bench.run(&named).ok().json();
    assert_eq!([&named["first"][0]["name"], &named["first"][1]["name"]], ["fox", "fox-2"]);
}

#[test]
fn the_short_options_are_those_of_single_pictures() {
    let bench = Bench::new();
    let words = ["batch", "run", "--prompt", "a fox", "-o", "pictures", "-n", "2", "-s", "128x64"];
    let more = ["-m", "gen-2-flex", "--names", "{index}.{ext}"];
    bench.run(&[&words[..], &more].concat()).ok();
    let described = description(&bench, "pictures/2.jpg");
    let fields = &described["request"]["fields"];
    assert_eq!((&fields["width"], &fields["height"]), (&128.into(), &64.into()), "{described}");
    assert_eq!(described["model"], "gen-2-flex");
    assert_eq!(bench.simulator.counts().accepted, 2);
    bench.run(&[&words[..], &["--width", "64"]].concat()).fails(2).says("width: is set twice");
    // Jobs with a size of their own keep it.
    bench.place.write("jobs.csv", "prompt,width,height\na fox,256,64\n");
    bench.run("batch run jobs.csv -o other -s 128x64").ok();
    assert_eq!(bench.last_request()["width"], 256);
}

#[test]
fn identical_jobs_are_paid_again_only_if_the_user_insists() {
    let bench = Bench::new();
    let list = |names: &[&str]| {
        let line = |name: &&str| format!(r#"{{"name":"{name}","prompt":"a fox","seed":7}}"#);
        let lines: Vec<_> = names.iter().map(line).collect();
        bench.place.write("jobs.jsonl", lines.join("\n"));
    };
    let words = ["batch", "run", "jobs.jsonl", "-o", "pictures", "--width", "64", "--height", "64"];
    let run = |more: &[&'static str]| bench.run(&[&words[..], more].concat());
    list(&["a", "b"]);
    let refused = run(&["--json"]).fails(12).error();
    assert_eq!(refused["kind"], "already_paid");
    assert_eq!(refused["message"], "job `b` is the same request as job `a`");
    assert_eq!(bench.simulator.counts().accepted, 0);
    list(&["a"]);
    run(&[]).ok();
    list(&["a", "c"]);
    let same = "job `c` is the same request as job `a`, saved as ";
    let refused = run(&[]).fails(12);
    assert!(refused.stderr.contains(same), "{refused:?}");
    let plan = run(&["--dry-run"]).ok();
    assert!(plan.stderr.contains(same) && plan.stderr.contains("--again"), "{plan:?}");
    assert_eq!(bench.simulator.counts().accepted, 1);
    run(&["--again"]).ok();
    // The ledger has both.
    run(&[]).ok();
    bench.run("batch jobs archive --older-than 0 --ledger pictures").ok();
    list(&["d"]);
    let refused = run(&[]).fails(12);
    assert!(refused.stderr.contains("job `d` is the same request as job `a`, saved as "));
    assert_eq!(bench.simulator.counts().accepted, 2);
}
