//! The table of `kiln exit-codes` is true: commands have each outcome twice, and what they charge
//! is compared with the table.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    bench::{AGES, Bench, Outcome, Place, fox},
    errors::scripted,
    running::Running,
};
use imagekiln_simulator::Config;

/// The columns `retry` and `charged` by code.
fn table() -> BTreeMap<i32, [String; 2]> {
    let codes = Place::new().run(&["exit-codes"]).ok().text();
    let row = |line: &str| {
        let mut cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let code = cells.next()?.parse().ok()?;
        Some((code, [cells.next()?.to_owned(), cells.next()?.to_owned()]))
    };
    codes.lines().filter_map(row).collect()
}

fn charged(bench: &Bench) -> i64 {
    bench.simulator.counts().charged.hundredths().try_into().unwrap()
}

fn generate(bench: &Bench) -> Outcome {
    bench.run(&fox(&["--json"]))
}

fn prompted(bench: &Bench, prompt: &str) -> Outcome {
    bench.run(&["generate", prompt, "--size", "64x64", "--json"])
}

fn with(bench: &Bench, variable: &str, value: &str) -> Outcome {
    let mut command = bench.kiln(&fox(&["--json"]));
    Outcome::of(command.env(variable, value).output().unwrap())
}

fn at_a_wrong_url(bench: &Bench) -> Outcome {
    with(bench, "IMAGEKILN_BASE_URL", &format!("{}/images", bench.simulator.base_url()))
}

fn with_a_wrong_prefix(bench: &Bench) -> Outcome {
    with(bench, "IMAGEKILN_MODEL_PREFIX", "xyz")
}

fn with_a_wrong_key(bench: &Bench) -> Outcome {
    with(bench, "IMAGEKILN_API_KEY", "another-key")
}

fn interrupted(bench: &Bench) -> Outcome {
    let mut run = Running::start(&mut bench.kiln(&fox(&["--json"])));
    run.until("submitted");
    run.interrupt();
    let (code, stdout, stderr) = run.end();
    Outcome { code, stdout: stdout.into_bytes(), stderr }
}

/// A bench whose next submission meets this fault.
fn faulty(fault: &str) -> Bench {
    let bench = Bench::new();
    bench.simulator.faults().add(fault).unwrap();
    bench
}

fn slow() -> Bench {
    Bench::ready_after(AGES)
}

fn poor() -> Bench {
    Bench::with(Config::from_toml("organizations = [{ name = 'Default', credits = 1 }]").unwrap())
}

/// A command that has this outcome, and a place where it has.
type Scenario = (i32, fn() -> Bench, fn(&Bench) -> Outcome);

const SCENARIOS: [Scenario; 14] = [
    (0, Bench::new, generate),
    (1, Bench::new, |bench| prompted(bench, "@nowhere.txt")),
    (2, Bench::new, |bench| prompted(bench, " ")),
    (2, Bench::new, at_a_wrong_url),
    (2, Bench::new, with_a_wrong_prefix),
    (3, Bench::new, with_a_wrong_key),
    (4, Bench::new, |bench| prompted(bench, "[[error]]")),
    (5, Bench::new, |bench| prompted(bench, "[[request-moderated]]")),
    (6, slow, |bench| bench.run(&fox(&["--deadline", "1", "--json"]))),
    (7, || faulty("rate-limited@submission=3600:1x"), generate),
    (8, || faulty("reply-lost@submission:1x"), generate),
    (8, || faulty("error-before@submission=503:1x"), generate),
    (11, poor, generate),
    (130, slow, interrupted),
];

#[test]
fn each_code_means_what_the_table_says() {
    let table = table();
    for (code, bench, command) in SCENARIOS {
        let [retry, charged_first] = &table[&code];
        let bench = bench();
        let first = command(&bench).fails(code);
        let cost = charged(&bench);
        let second = command(&bench);
        match retry.as_str() {
            "yes" => assert_eq!((second.code, charged(&bench)), (0, 300), "{code}: {second:?}"),
            // It fails again, or another picture is charged.
            _ => assert!(second.code == code || charged(&bench) > cost, "{code}: {second:?}"),
        }
        let is_unknown = || first.error()["may_have_been_billed"] == json!(true);
        match charged_first.as_str() {
            "no" => assert!(cost == 0 && !is_unknown(), "{code}: {first:?}"),
            "yes" => assert!(cost == 300 && !is_unknown(), "{code}: {first:?}"),
            "unknown" => assert!(is_unknown(), "{code}: {first:?}"),
            other => assert_eq!(other, "see output"),
        }
    }
}

#[test]
fn the_status_code_of_a_refusal_decides_whether_a_retry_helps() {
    for (status, code) in
        [(400, 2), (404, 2), (405, 2), (413, 2), (401, 3), (402, 11), (425, 7), (408, 8), (500, 8)]
    {
        let refused = scripted(&fox(&[]), |server| server.next().respond(status, &Value::Null));
        let said = refused.fails(code).stderr;
        assert_eq!(said.contains("nothing was billed"), code != 8, "{status}: {said}");
    }
}

/// The task exists, so the same command would make another one.
#[test]
fn a_refused_poll_leaves_a_task() {
    for status in [400, 401, 402, 404] {
        let refused = scripted(&fox(&["--json"]), |server| {
            server.next().respond(200, &json!({ "id": "a1" }));
            // The key has worked, so the answer is doubted.
            (0..5).for_each(|_| server.next().respond(status, &Value::Null));
        });
        assert_eq!(refused.fails(6).error()["task"]["id"], "a1");
    }
}

#[test]
fn a_webhook_is_rejected_whenever_it_is_verified() {
    assert_eq!(table()[&9], ["no", "no"]);
    let place = Place::new();
    place.write("secret", "hush");
    let words = ["webhook", "verify", "-", "-H", "x-signature: 0", "--secret-file", "secret"];
    let verdicts = [(); 2].map(|()| place.run_with_stdin(&words, b"{}").code);
    assert_eq!(verdicts, [9, 9]);
}

/// The same command would make another picture of the first prompt.
#[test]
fn a_command_that_saved_some_pictures_is_not_to_be_repeated() {
    let bench = Bench::new();
    bench.place.configure("max_active = 1\n");
    let busy = "an owl [[rate-limited@submission=3600]]";
    let words = ["generate", "a fox", busy, "--size", "64x64", "-o", ".", "--json"];
    let made = bench.run(&words).fails(1);
    assert_eq!(made.text().lines().count(), 1, "{made:?}");
    let failed = made.events().into_iter().find(|event| event["event"] == "not_saved").unwrap();
    assert_eq!(failed["kind"], "rate_limited");
}
