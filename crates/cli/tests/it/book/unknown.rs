//! The runbook for unknown submissions is followed from its first command to its last.

use std::time::Duration;

use serde_json::json;

use super::{blocks::blocks, read};
use crate::{
    batch::ledgers::named,
    bench::{Bench, Outcome},
    history::history,
};

/// Its blocks of `sh` are the runbook.
pub const PAGE: &str = "docs/operations.md";

/// Makes three unknown submissions, @2 to @4, and five unknown jobs. Returns the ids of the tasks
/// of @2 and of the job fox-1.
fn lose_responses(bench: &Bench) -> [String; 2] {
    let task_of = |prompt: &str| {
        let tasks = bench.simulator.tasks();
        tasks.into_iter().find(|task| task.request["prompt"] == prompt).unwrap().id
    };
    let generate = |prompt: &str, output: &str| bench.run(&["generate", prompt, "-o", output]);
    generate("an owl", "owl.png").ok();
    bench.simulator.faults().add("reply-lost@submission:3x").unwrap();
    for (prompt, output) in [("a hare", "hare.png"), ("a wolf", "wolf.png"), ("a cat", "cat.png")] {
        generate(prompt, output).fails(8);
    }
    bench.simulator.faults().add("reply-lost@submission:5x").unwrap();
    let job = |number: usize| {
        let prompt = format!("fox {number}");
        let job = json!({ "name": format!("fox-{number}"), "prompt": prompt });
        format!("{job}\n")
    };
    bench.place.write("jobs.jsonl", (1..=5).map(job).collect::<String>());
    bench.run("batch run jobs.jsonl --output pictures").fails(8);
    [task_of("a hare"), task_of("fox 1")]
}

#[test]
fn unknown() {
    let bench = Bench::ready_after(Duration::ZERO);
    let [id, job_id] = lose_responses(&bench);
    let page = read(PAGE);
    let blocks = blocks(&page).into_iter().filter(|block| block.language == "sh");
    let script: String = blocks.map(|block| block.code).collect();
    let accepted = bench.simulator.counts().accepted;
    let mut shell = bench.shell_command(&script);
    shell.env("ID", id).env("JOB_ID", job_id).env("LISTED", "2999-01-01");
    let outcome = Outcome::of(shell.output().unwrap()).ok();
    for line in [
        "2 jobs would be resolved as paid; expected price: unknown",
        "2 jobs resolved as not paid; expected price: unknown",
        "1 submission dismissed; expected price: 4.00 credits",
    ] {
        assert!(outcome.text().lines().any(|printed| printed == line), "{}", outcome.text());
    }
    assert_eq!(named(&bench, "saved"), ["fox-1", "fox-4", "fox-5"]);
    assert_eq!(named(&bench, "failed"), ["fox-2", "fox-3"]);
    let states: Vec<_> = history(&bench).iter().map(|line| line["state"].clone()).collect();
    assert_eq!(states, ["dismissed", "dismissed", "saved", "saved"]);
    assert_eq!(bench.simulator.counts().accepted, accepted + 2, "only what was not paid");
}
