//! `kiln spending` and `archive`, and the groups of jobs.

use serde_json::json;

use super::{ledgers::batch, runs::run};
use crate::{
    assert_shown,
    bench::{Bench, Outcome},
};

fn spent(bench: &Bench, words: &[&str]) -> Outcome {
    bench.run(&[&["spending", "--ledger", "pictures"], words].concat())
}

#[test]
fn the_spending_by_day_group_and_model() {
    let bench = Bench::new();
    run(&bench, &["a fox", "a wolf"], &["--group", "anna"]).ok();
    run(&bench, &["an owl [[reply-lost]]"], &["--model", "gen-2-pro"]).fails(8);
    let spending = spent(&bench, &["--json"]).ok().json();
    let total = ["submissions", "without_cost", "credits", "estimated"].map(|name| &spending[name]);
    assert_eq!(total, [&json!(3), &json!(1), &json!(6.0), &json!(3.0)]);
    let row = &spending["rows"][1];
    assert_eq!((&row["group"], &row["model"]), (&"anna".into(), &"gen-2-pro".into()));
    let days = spending["rows"].as_array().unwrap().iter().map(|row| row["day"].as_str().unwrap());
    let table = spent(&bench, &[]).ok().text();
    let table = days.fold(table, |table, day| table.replace(day, "2026-11-26"));
    assert_shown!("spending", table);
}

#[test]
fn archived_jobs_leave_and_are_not_paid_again() {
    let bench = Bench::new();
    let prompts = ["a fox", "a wolf"];
    spent(&bench, &[]).fails(2).says("there is no ledger at pictures");
    run(&bench, &prompts, &[]).ok();
    let spending = spent(&bench, &[]).ok().text();
    let none = batch(&bench, "jobs archive --older-than 1d").ok().text();
    assert_eq!(none, "0 jobs archived\n");
    let archived = batch(&bench, "jobs archive --older-than 0 --json").ok().json();
    assert_eq!(archived, json!({ "event": "archived", "jobs": 2 }));
    assert_eq!(batch(&bench, "status").ok().text(), "the ledger contains no jobs\n");
    assert_eq!(spent(&bench, &[]).ok().text(), spending);
    let plan = run(&bench, &prompts, &["--dry-run", "--json"]).ok().json();
    assert_eq!((&plan["jobs"], &plan["submitted_before"]), (&json!(0), &json!(2)));
    run(&bench, &prompts, &["--archive-after", "1d"]).ok();
    assert_eq!(bench.simulator.counts().accepted, 2);
    for words in [&["jobs", "archive"][..], &["jobs", "archive", "--older-than", "soon"]] {
        batch(&bench, words).fails(2);
    }
}

#[test]
fn jobs_have_the_group_and_the_priority_of_their_line_or_of_the_option() {
    let bench = Bench::new();
    bench.place.write(
        "jobs.csv",
        "name,prompt,group,priority\nfox,a fox,anna,-2\nwolf,a wolf,,\nowl,an owl,ben,9\n",
    );
    let words = ["batch", "run", "jobs.csv", "-o", "pictures", "--max-active", "1"];
    let more = ["--width", "64", "--height", "64", "--group", "cleo", "--priority", "-1", "--json"];
    let events = bench.run(&[&words[..], &more].concat()).ok().lines();
    let saved = events.into_iter().filter(|event| event["state"] == "saved");
    let saved: Vec<_> =
        saved.map(|event| json!([event["name"], event["group"], event["priority"]])).collect();
    assert_eq!(
        saved,
        [json!(["owl", "ben", 9]), json!(["wolf", "cleo", -1]), json!(["fox", "anna", -2])]
    );
    bench.run("batch run -o pictures --group anna").fails(2).says("no jobs given");
}

#[test]
fn prices_of_the_settings_hold_until_a_cost_is_known() {
    let bench = Bench::new();
    let prompts = ["a fox", "a wolf"];
    let set = |price: &str| bench.run(&["config", "set", "prices", price]);
    for wrong in ["gen-2-pro", "gen-2-pro=-1", "gen-2-por=3"] {
        set(wrong).fails(2);
    }
    set("gen-2-pro=4").ok();
    assert_eq!(run(&bench, &prompts, &["--dry-run", "--json"]).ok().json()["credits"], 8.0);
    // Without a price, the first job would be submitted.
    run(&bench, &prompts, &["--budget", "3"]).fails(10);
    assert_eq!(bench.simulator.counts().accepted, 0);
    run(&bench, &prompts, &["--budget", "6"]).ok();
    assert_eq!(run(&bench, &["an owl"], &["--dry-run", "--json"]).ok().json()["credits"], 3.0);
}

#[test]
fn a_price_by_megapixel_holds_after_a_cost_is_known() {
    let bench = Bench::new();
    let batch = |line: &str| bench.run(&format!("batch {line} --ledger pictures"));
    let set = |price: &str| bench.run(&["config", "set", "prices", price]);
    set("gen-2-pro=3/GP").fails(2);
    set("gen-2-pro=1 + 200/MP").ok();
    // The jobs have 0.01 megapixels, the model 4 at most.
    let plan = |more: &[&str]| run(&bench, &["a fox", "a wolf"], more).ok().json();
    assert_eq!(plan(&["--dry-run", "--json"])["credits"], 6.0);
    bench.place.write("large.jsonl", r#"{"prompt":"a fox","width":1000,"height":500}"#);
    assert_eq!(
        bench.run("batch run large.jsonl -o pictures --dry-run --json").ok().json()["credits"],
        101.0
    );
    let config = bench.run("generate 'a fox' --dry-run").ok().text();
    assert!(config.contains("\nprice: 801.00 credits a picture, as configured\n"), "{config}");

    run(&bench, &["a fox"], &["--budget", "3"]).ok();
    let set = "limits --price gen-2-flex=0.5/MP --price gen-2-pro=0+300/MP --json";
    let price = |model, price| json!({ "model": model, "credits": 0.0, "per_megapixel": price });
    let prices = json!([price("gen-2-flex", 0.5), price("gen-2-pro", 300.0)]);
    assert_eq!(batch(set).ok().json()["prices"], prices);
    // The first job cost 3 credits, and the second one may cost as many.
    assert_eq!(plan(&["--dry-run", "--json"])["credits"], 3.0);
    let text = batch("limits --price gen_2_pro=2+400/MP").ok().text();
    let price = "price of gen-2-pro: 2.00 credits, and 400 per megapixel\n";
    assert!(text.ends_with(price), "{text}");
    run(&bench, &["a fox", "a wolf"], &["--budget", "8.9"]).fails(10);
    run(&bench, &["a fox", "a wolf"], &["--budget", "9", "--price", "1/MP"]).ok();
    let text = batch("limits --price gen-2-pro=none --price gen-2-flex=none").ok().text();
    assert!(!text.contains("price"), "{text}");
    for price in ["gen-2-pro=1/2", "gen-2-prp=1", "gen-2-pro"] {
        batch(&format!("limits --price {price}")).fails(2);
    }
}
