//! The commands of the documents that pay. Their submissions are in the history, or in the ledger
//! of their batch. `kiln resume`, or the same batch again, saves the pictures.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::Stage;
use crate::{
    bench::png,
    book::{RUN, blocks::blocks},
    history::history,
};
use imagekiln_simulator::TaskView;

/// Longer than most commands take.
const LONGEST: Duration = Duration::from_millis(600);

/// The commands that submit something.
const PAYING: [&str; 7] =
    ["generate", "edit", "run", "task submit", "tool", "--json generate", "batch run"];

/// Each command of `kiln` alone, and what prepares it.
fn commands(code: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut continues = false;
    for line in code.lines() {
        match commands.last_mut() {
            Some(last) if continues => *last += line,
            _ => commands.push(line.to_owned()),
        }
        let last = commands.last_mut().unwrap();
        last.push('\n');
        let is_heredoc = last.contains("<<'END'") && !last.ends_with("\nEND\n");
        continues = is_heredoc || line.ends_with('\\');
    }
    commands
}

fn pays(command: &str) -> bool {
    let free = ["--dry-run", "--help"].iter().any(|flag| command.contains(flag));
    let starts = |verb: &str| {
        command.strip_prefix("kiln ").is_some_and(|words| words.starts_with(&format!("{verb} ")))
    };
    !free && PAYING.iter().any(|verb| starts(verb))
}

/// Runs the commands of some blocks in one directory. Each that pays is killed under faults, and
/// then continued.
fn survives(code: &str) {
    let mut stage = Stage::new();
    for image in ["cat.png", "hat.png", "mask.png"] {
        stage.bench.place.write(image, png(256, 256));
    }
    for command in commands(code) {
        let shell = |stage: &Stage| stage.bench.shell_command(&command);
        if !pays(&command) {
            // What prepares others. `kiln` shows what only some runs leave.
            if !command.starts_with("kiln") {
                stage.run(&mut shell(&stage), Duration::MAX);
            }
            continue;
        }
        let before = stage.account().len();
        let run = stage.kill(&mut shell(&stage), LONGEST);
        if command.contains("batch run") {
            batch(&mut stage, &command, before);
        } else if !run.status.success() {
            resumed(&mut stage, before);
        }
        if stage.account().len() == before {
            // It fails if it needs a picture whose command was killed before it paid.
            stage.run(&mut shell(&stage), Duration::MAX);
        }
    }
    // `kiln task submit` does not wait.
    stage.bench.run("resume").ok();
    let history = history(&stage.bench);
    let paid: Vec<_> = history.iter().filter(|entry| !entry["id"].is_null()).collect();
    assert!(paid.iter().all(|entry| entry["state"] == "saved"), "{paid:?}");
    let files: BTreeSet<_> = paid.iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert!(files.iter().all(|file| Path::new(file).exists()), "{files:?}");
    assert_eq!(files.len(), paid.len(), "a picture was replaced");
}

/// Saves what a killed command submitted. A person looks for what `kiln` does not know.
fn resumed(stage: &mut Stage, before: usize) {
    let paid = stage.account().len();
    stage.kill(&mut stage.bench.kiln("resume"), LONGEST);
    let bench = &stage.bench;
    let entries = history(bench);
    let mut lost = stage.account().split_off(before);
    lost.retain(|task| entries.iter().all(|entry| entry["id"] != task.id.as_str()));
    for entry in entries.iter().filter(|entry| entry["state"] == "unknown") {
        let number = format!("@{}", entry["number"]);
        let is_it = |task: &TaskView| entry["prompt"] == task.request["prompt"];
        match lost.iter().position(is_it) {
            Some(at) => bench.run(&["task", "resolve", &number, &lost.remove(at).id]).ok(),
            None => bench.run(&["task", "dismiss", &number]).ok(),
        };
    }
    assert!(lost.is_empty(), "paid, and not in the history: {lost:?}");
    bench.run("resume").ok();
    assert_eq!(stage.account().len(), paid, "a resume pays nothing");
}

/// Runs a batch again until its jobs have ended.
fn batch(stage: &mut Stage, command: &str, before: usize) {
    let words: Vec<_> = command.split_whitespace().collect();
    let output = words[words.iter().position(|word| *word == "--output").unwrap() + 1];
    stage.kill(&mut stage.bench.shell_command(command), LONGEST);
    stage.disturb(&mut stage.bench.shell_command(command));
    let bench = &stage.bench;
    let jobs = || {
        let status = bench.run(&["batch", "status", "--ledger", output, "--all", "--json"]).ok();
        status.json()["listed"].as_array().unwrap().clone()
    };
    let known = jobs();
    let mut lost = stage.account().split_off(before);
    lost.retain(|task| known.iter().all(|job| job["task_id"] != task.id.as_str()));
    for job in known.iter().filter(|job| job["state"] == "unknown") {
        let name = job["name"].as_str().unwrap();
        let resolve = ["batch", "resolve", name, "--ledger", output];
        let is_it = |task: &TaskView| {
            let prompt = task.request["prompt"].as_str().unwrap();
            let words = prompt.split(|letter: char| !letter.is_alphanumeric());
            let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            name.starts_with(&words.join("-"))
        };
        let decision = match lost.iter().position(is_it) {
            Some(at) => vec!["--task".to_owned(), lost.remove(at).id],
            None => vec!["--not-paid".to_owned()],
        };
        let decision: Vec<_> = decision.iter().map(String::as_str).collect();
        bench.run(&[&resolve[..], &decision].concat()).ok();
    }
    assert!(lost.is_empty(), "paid, and not in the ledger: {lost:?}");
    let last = stage.run(&mut bench.shell_command(command), Duration::MAX);
    assert!(last.status.success(), "{}", last.stderr);
    assert_eq!(jobs().len(), stage.account().len() - before, "paid once each");
}

/// The blocks of commands on a page.
fn sh(page: &str) -> Vec<String> {
    let blocks = blocks(imagekiln_testbed::page(page)).into_iter();
    blocks.filter(|block| block.language == "sh").map(|block| block.code).collect()
}

#[test]
fn the_readme() {
    for block in sh("crates/cli/README.md") {
        survives(&block);
    }
}

/// The commands of a page use the pictures of those before.
#[test]
fn the_book() {
    for page in RUN {
        survives(&sh(page).concat());
    }
}
