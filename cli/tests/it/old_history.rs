//! The histories of earlier versions, with a file and a lock for each submission.

use std::{
    fs::{self, File},
    path::Path,
};

use serde_json::{Value, json};

use crate::{bench::Bench, history::history};

const SUBMIT: [&str; 9] =
    ["submit", "gen-2-pro", "--prompt", "a fox", "--width", "64", "--height", "64", "--no-history"];

/// Writes the file of a submission as earlier versions did.
fn write(bench: &Bench, number: u64, task: Option<&Value>, end: Option<Value>) {
    let directory = bench.place.path("").canonicalize().unwrap();
    let mut entry = json!({
        "intent": {
            "id": format!("{number:032x}"), "operation": "gen-2-pro", "at": 1_795_422_074 + number,
            "label": "0",
        },
        "prompt": format!("fox {number}"),
        "destination": {
            "directory": directory, "output": directory.join(format!("{number}.jpg")),
            "overwrite": false, "mkdir": false,
        },
    });
    if let Some(task) = task {
        entry["task"] = task.clone();
    }
    if let Some(end) = end {
        entry["end"] = end;
    }
    let history = bench.place.history();
    fs::create_dir_all(&history).unwrap();
    fs::write(history.join(format!("{number}.json")), entry.to_string()).unwrap();
    fs::write(history.join(format!("{number}.lock")), "").unwrap();
}

fn states(bench: &Bench) -> Vec<(u64, String)> {
    let state = |line: &Value| {
        (line["number"].as_u64().unwrap(), line["state"].as_str().unwrap().to_owned())
    };
    history(bench).iter().map(state).collect()
}

fn old_files(history: &Path) -> Vec<String> {
    let files = fs::read_dir(history).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with("log-") && name != "numbers");
    names.sort();
    names
}

#[test]
fn old_submissions_are_listed_continued_and_moved() {
    let bench = Bench::new();
    let submit = || bench.run(&SUBMIT).ok().json();
    let tasks: Vec<Value> = (0..4).map(|_| submit()).collect();
    let [saved, left, claimed, failed] = &tasks[..] else { panic!("{tasks:?}") };
    let fox = bench.place.path("saved.png");
    write(&bench, 1, Some(saved), Some(json!({ "kind": "saved", "path": fox })));
    write(&bench, 2, Some(left), None);
    write(&bench, 3, None, None);
    write(&bench, 5, Some(claimed), None);
    write(&bench, 6, None, Some(json!({ "kind": "archived", "where": "x" })));
    write(&bench, 12, Some(failed), Some(json!({ "kind": "moderated" })));
    let place = bench.place.history();
    fs::write(place.join("4.json"), "{\"intent\":{").unwrap();
    let held = File::open(place.join("5.lock")).unwrap();
    held.lock().unwrap();

    let before = old_files(&place);
    let expected = |second: &str, third: &str, fifth: &str| {
        [(12, "moderated"), (6, "dismissed"), (5, fifth), (3, third), (2, second), (1, "saved")]
            .map(|(number, state)| (number, state.to_owned()))
            .to_vec()
    };
    assert_eq!(states(&bench), expected("unfinished", "unknown", "waiting"));
    let listed = bench.run(&["history"]).ok();
    assert!(listed.stderr.contains("warning: could not read"), "{}", listed.stderr);
    assert!(listed.stderr.contains("4.json"), "{}", listed.stderr);
    let shown = &history(&bench)[5];
    assert_eq!((&shown["path"], &shown["prompt"]), (&json!(fox), &json!("fox 1")));
    assert_eq!((before, place.join("log-1.jsonl").exists()), (old_files(&place), false));

    let resumed = bench.run(&["resume"]).fails(8);
    assert_eq!(resumed.text(), "2.jpg\n");
    assert!(resumed.stderr.contains("another command is waiting for @5"), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("@3: error: the response"), "{}", resumed.stderr);
    assert_eq!(states(&bench), expected("saved", "unknown", "waiting"));
    assert_eq!(old_files(&place), ["4.json", "5.json", "5.lock"]);

    drop(held);
    bench.run(&["task", "dismiss", "@3"]).ok();
    assert_eq!(states(&bench), expected("saved", "dismissed", "unfinished"));
    assert_eq!(bench.run(&["resume"]).ok().text(), "5.jpg\n");
    assert_eq!(old_files(&place), ["4.json"]);
    // A date that no calendar has.
    let text = json!({
        "intent": { "id": "0", "operation": "gen-2-pro", "at": u64::MAX },
        "destination": { "directory": "/" },
    });
    fs::write(place.join("4.json"), text.to_string()).unwrap();
    bench.run(&SUBMIT[..8]).ok();
    let numbers: Vec<u64> = states(&bench).into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [13, 12, 6, 5, 4, 3, 2, 1]);
    assert_eq!(old_files(&place), [""; 0]);
    assert_eq!(bench.simulator.counts().accepted, 5);
}

/// A command was killed after it had moved a submission, and before it removed the file.
#[test]
fn a_submission_that_was_moved_already_is_listed_once() {
    let bench = Bench::new();
    let task = bench.run(&SUBMIT).ok().json();
    write(&bench, 3, Some(&task), None);
    let file = bench.place.history().join("3.json");
    let text = fs::read(&file).unwrap();
    assert_eq!(bench.run(&["task", "save", "@3"]).ok().text(), "3.jpg\n");
    fs::write(&file, text).unwrap();
    assert_eq!(states(&bench), [(3, "saved".to_owned())]);
    assert_eq!(bench.run(&["resume"]).ok().stderr, "nothing is unfinished\n");
    bench.run(&SUBMIT[..8]).ok();
    assert_eq!(states(&bench), [(4, "unfinished".to_owned()), (3, "saved".to_owned())]);
}
