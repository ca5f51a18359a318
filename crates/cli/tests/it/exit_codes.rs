//! The table of `kiln exit-codes` is true: commands have each outcome twice, and what they charge
//! is compared with the table.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    batch::runs::RUN,
    bench::{AGES, Bench, Outcome, Place, fox},
    errors::scripted,
    running::Running,
};
use imagekiln_simulator::Config;

/// The columns `retry` and `charged` by code.
fn table() -> BTreeMap<i32, [String; 2]> {
    let codes = Place::new().run("exit-codes").ok().text();
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

/// A prompt for each outcome of a picture that is charged, and its exit code.
const CHARGED: [(&str, i32); 5] = [
    ("a fox", 0),
    ("a wolf [[error]]", 4),
    ("an owl [[content-moderated]]", 5),
    ("a cat [[damaged:always]]", 6),
    ("a dog [[reply-lost]]", 8),
];

const REFUSED: &str = "a hen [[rate-limited@submission=3600]]";

/// Runs a command with each outcome, with each pair, which shows the order of all, and with all of
/// them. `run` gets the prompts, and whether there is one that is not charged in addition, which
/// has the code `uncharged` if it is the worst.
fn assert_worst(uncharged: fn(usize) -> i32, run: fn(&Bench, Vec<&str>, bool) -> Outcome) {
    let check = |number: &usize| {
        let chosen = CHARGED.iter().enumerate().filter(|(at, _)| number >> at & 1 == 1);
        let (prompts, codes): (Vec<_>, Vec<_>) = chosen.map(|(_, outcome)| *outcome).unzip();
        let has_uncharged = number >> CHARGED.len() == 1;
        let worst = codes.iter().max().copied().unwrap_or_default();
        let is_fine = worst == 0 && has_uncharged;
        let expected = if is_fine { uncharged(prompts.len()) } else { worst_of(&codes) };
        let bench = Bench::new();
        bench.place.configure("max_active = 8\n");
        let outcome = run(&bench, prompts, has_uncharged);
        assert_eq!(outcome.code, expected, "{codes:?}, {has_uncharged}: {}", outcome.stderr);
        assert!(expected != 7 || charged(&bench) == 0, "{codes:?}");
    };
    let all: usize = (2 << CHARGED.len()) - 1;
    let numbers = (1..=all).filter(|number| number.count_ones() <= 2 || *number == all);
    let numbers: Vec<usize> = numbers.collect();
    std::thread::scope(|scope| {
        for numbers in numbers.chunks(3) {
            scope.spawn(move || numbers.iter().for_each(check));
        }
    });
}

fn worst_of(codes: &[i32]) -> i32 {
    [8, 6, 5, 4].into_iter().find(|code| codes.contains(code)).unwrap_or_default()
}

#[test]
fn the_worst_of_several_pictures_decides() {
    let uncharged = |others| if others > 0 { 1 } else { 7 };
    assert_worst(uncharged, |bench, mut prompts, has_uncharged| {
        prompts.extend(has_uncharged.then_some(REFUSED));
        let words = ["--size", "64x64", "-o", "{index}.{ext}"];
        bench.run(&[&["generate"], &prompts[..], &words].concat())
    });
}

/// The budget is not enough for the last job.
#[test]
fn the_worst_of_the_jobs_of_a_batch_decides() {
    assert_worst(
        |_| 10,
        |bench, prompts, has_uncharged| {
            let mut jobs = "prompt,priority\n".to_owned();
            prompts.iter().for_each(|prompt| jobs += &format!("{prompt},1\n"));
            jobs += if has_uncharged { "a hen,0\n" } else { "" };
            bench.place.write("jobs.csv", jobs);
            let budget = (prompts.len() * 3 + 1).to_string();
            let words = ["jobs.csv", "--max-active", "1", "--price", "3", "--budget", &budget];
            bench.run(&[&RUN[..], &words].concat())
        },
    );
}
