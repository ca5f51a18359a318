//! What pictures are expected to cost, what they have cost, and the limits of a command.

use serde_json::{Value, json};

use crate::{
    batch::runs,
    bench::{Bench, fox},
    history::history,
};

const ON: &[&str] = &["-o", "."];

#[test]
fn a_price_is_configured_or_that_of_the_last_like_it() {
    let bench = Bench::new();
    let price = |words: &[&str]| {
        let dry = bench.run(&[words, &["--dry-run"]].concat()).ok().text();
        let json = bench.run(&[&["--json"], words, &["--dry-run"]].concat()).ok().text();
        let json: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
        let line = dry.lines().find_map(|line| line.strip_prefix("price: ")).unwrap().to_owned();
        (line, json["price"].clone(), json["price_of"].clone())
    };
    let unknown = "not known before the service has accepted the request".to_owned();
    assert_eq!(price(&fox(&[])), (unknown.clone(), json!(null), json!(null)));
    bench.run(&fox(ON)).ok();
    let like = "about 3.00 credits a picture, like @1".to_owned();
    assert_eq!(price(&fox(&[])), (like.clone(), json!(3.0), json!(1)));
    assert_eq!(price(&fox(&["-n", "2", "-o", "."])).0, format!("{like}; 6.00 credits for 2"));
    // Another size or model may cost more.
    assert_eq!(price(&["generate", "a fox", "-s", "128x64"]).0, unknown);
    assert_eq!(price(&fox(&["-m", "gen-2-flex"])).0, unknown);
    bench.place.configure("prices = [\"gen-2-pro=1.5\"]");
    let configured = "1.50 credits a picture, as configured".to_owned();
    assert_eq!(price(&fox(&[])), (configured, json!(1.5), json!(null)));
}

#[test]
fn a_dry_run_names_the_seeds_that_make_the_same_pictures() {
    let bench = Bench::new();
    let dry = |words: &[&str]| {
        let text = bench.run(&fox(&[words, &["-o", ".", "--dry-run"]].concat())).ok().text();
        let line = text.lines().find_map(|line| line.strip_prefix("drawn now: --seed "));
        line.map(str::to_owned)
    };
    let two = dry(&["-n", "2"]).unwrap();
    let seeds = two.strip_suffix(" in place of -n makes the same").unwrap();
    bench.run(&fox(&["--seed", seeds, "-o", "."])).ok();
    let mut sent: Vec<_> =
        history(&bench).iter().map(|entry| entry["seed"].as_i64().unwrap()).collect();
    sent.sort_unstable();
    assert_eq!(seeds, format!("{},{}", sent[0], sent[1]));
    assert!(dry(&[]).unwrap().ends_with(" makes the same"));
    assert_eq!(dry(&["--seed", "7"]), None);
    assert_eq!(dry(&["--key", "cover"]), None, "the key decides the seed");
}

#[test]
fn a_budget_is_kept() {
    let bench = Bench::new();
    let make =
        |count: &str, budget: &str| bench.run(&fox(&["-n", count, "--budget", budget, "-o", "."]));
    // Costs are not known: one after the other.
    let some = make("4", "7").fails(1);
    assert_eq!(some.text().lines().count(), 2, "{}", some.stderr);
    let why = "2 of 4 pictures were not saved, because they would cost more than the budget";
    some.says(why);
    assert_eq!(bench.simulator.counts().accepted, 2);
    // They are known: nothing is sent.
    let none = make("4", "11").fails(11).stderr;
    assert!(none.contains("4 pictures for about 12 credits: more than the budget of 11"), "{none}");
    assert!(none.contains("nothing was sent"), "{none}");
    assert_eq!(bench.simulator.counts().accepted, 2);
    make("4", "12").ok();
    assert_eq!(bench.simulator.counts().accepted, 6);
    bench.run(&fox(&["--budget", "2", "-o", "."])).fails(11).says("1 picture for about 3 credits");
    bench.run(&fox(&["--budget", "much", "-o", "."])).fails(2);
    bench.run(&fox(&["--simulate", "-n", "2", "--budget", "0", "-o", "."])).ok();
    assert_eq!(bench.simulator.counts().accepted, 6);
}

#[test]
fn expensive_pictures_need_a_yes() {
    let bench = Bench::new();
    bench.place.configure("ask_above_credits = 5\nprices = [\"gen-2-pro=3\"]");
    let two = fox(&["-n", "2", "-o", "."]);
    let refused = bench.run(&two).fails(2).stderr;
    assert!(refused.contains("2 pictures for 6 credits: more than 5 credits"), "{refused}");
    assert!(refused.contains("kiln config set ask_above_credits NUMBER"), "{refused}");
    bench.run(&fox(ON)).ok();
    bench.run(&[&two[..], &["--yes"]].concat()).ok();
    assert_eq!(bench.simulator.counts().accepted, 3);
}

/// Single commands and batches together cost what the service has charged.
#[test]
fn the_spending_is_that_of_the_service() {
    let bench = Bench::new();
    let nothing = bench.run("spending").ok().text();
    assert_eq!(nothing, "nothing was submitted\n");
    bench.run(&fox(&["-n", "2", "-o", "."])).ok();
    bench.run(&fox(&["-m", "gen-2-flex", "-o", "."])).ok();
    bench.run("generate 'a fox [[content-moderated]]' -s 64x64").fails(5);
    bench.run(&fox(&["--simulate", "-o", "."])).ok();
    bench.run(&fox(&["--no-history", "-o", "other.png"])).ok();
    let unrecorded = 3.0;
    runs::run(&bench, &["an owl", "a wolf"], &["--group", "anna"]).ok();
    let spending =
        |words: &[&str]| bench.run(&[&["spending", "--json"], words].concat()).ok().json();
    let tasks = bench.simulator.tasks();
    let charged: f64 = tasks.iter().map(|task| task.cost.to_string().parse::<f64>().unwrap()).sum();
    assert_eq!(spending(&[])["credits"], charged - unrecorded);
    let rows = spending(&["--by", "ledger,group,model"])["rows"].clone();
    let rows: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["model"].clone(),
                row["group"].clone(),
                row["submissions"].clone(),
                row["day"].clone(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (json!("gen-2-flex"), json!(null), json!(1), json!(null)),
            (json!("gen-2-pro"), json!(null), json!(3), json!(null)),
            (json!("gen-2-pro"), json!("anna"), json!(2), json!(null)),
        ]
    );
    let by_profile = spending(&["--by", "profile"]);
    assert_eq!(by_profile["rows"][1]["profile"], "default");
    assert_eq!(spending(&["--since", "1d"])["submissions"], 6);
    assert_eq!(spending(&["--since", "2999-01-01"])["submissions"], 0);
    // A response that was lost may have been charged.
    bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    bench.run(&fox(&["-o", "lost.png"])).fails(8);
    let all = spending(&[]);
    assert_eq!((&all["without_cost"], &all["estimated"]), (&json!(1), &json!(3.0)));
    // A ledger that cannot be read is named, and the others count.
    bench.place.write("pictures/.kiln-batch.db", "damaged");
    let all = spending(&[]);
    assert_eq!(all["submissions"], 5);
    let unreadable = all["unreadable"].as_array().unwrap();
    assert!(unreadable[0]["ledger"].as_str().unwrap().ends_with("pictures/.kiln-batch.db"));
    bench.run("spending").ok().says("pictures/.kiln-batch.db is not counted: ");
}
