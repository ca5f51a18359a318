//! `--open`, with a desktop that writes down what it opens.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::bench::{Bench, Outcome};

const FOX: [&str; 7] =
    ["generate", "a fox", "--width=64", "--height=64", "--output", "fox.png", "--open"];

/// The command, on a desktop that opens files with this shell script.
fn with_desktop(bench: &Bench, words: &[&str], script: Option<&str>) -> Command {
    let directory = bench.place.path("desktop");
    fs::create_dir_all(&directory).unwrap();
    if let Some(script) = script {
        let program = directory.join("xdg-open");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let mut command = bench.kiln(words);
    command.env("PATH", directory);
    command
}

fn run(mut command: Command) -> Outcome {
    Outcome::of_run(&mut command)
}

#[test]
fn the_saved_picture_is_opened() {
    let bench = Bench::new();
    let script = Some("echo \"$#: $1\" >> opened");
    let outcome = run(with_desktop(&bench, &FOX, script)).ok();
    assert_eq!(outcome.text(), "fox.png\n");
    assert_eq!(bench.place.read("opened"), b"1: fox.png\n");
    // Another picture, under another name.
    run(with_desktop(&bench, &FOX, script)).ok();
    assert_eq!(bench.place.read("opened"), b"1: fox.png\n1: fox-2.png\n");
}

#[test]
fn a_name_is_never_an_option_of_the_desktop() {
    let bench = Bench::new();
    let words = ["generate", "a fox", "--width=64", "--height=64", "--output=-fox.png", "--open"];
    run(with_desktop(&bench, &words, Some("echo \"$1\" >> opened"))).ok();
    assert_eq!(bench.place.read("opened"), b"./-fox.png\n");
}

#[test]
fn every_resumed_picture_is_opened() {
    let bench = Bench::new();
    for name in ["one.png", "two.png"] {
        let words = ["--prompt=a fox", "--width=64", "--height=64", "--output", name];
        bench.run(&[&["task", "submit", "gen-2-pro"][..], &words].concat()).ok();
    }
    run(with_desktop(&bench, &["resume", "--open"], Some("echo \"$1\" >> opened"))).ok();
    let opened = String::from_utf8(bench.place.read("opened")).unwrap();
    assert_eq!(opened.lines().count(), 2, "{opened}");
    assert!(opened.contains("one.png\n") && opened.contains("two.png\n"), "{opened}");
}

#[test]
fn a_picture_that_can_not_be_opened_is_a_warning() {
    let bench = Bench::new();
    for (script, why) in
        [(None, "found no program that opens files\n"), (Some("exit 3"), "the desktop has")]
    {
        let outcome = run(with_desktop(&bench, &FOX, script)).ok();
        let warning = outcome.stderr.lines().last().unwrap().to_owned() + "\n";
        assert!(warning.starts_with("warning: could not open fox"), "{warning}");
        assert!(warning.contains(why), "{warning}");
    }
}

#[test]
fn the_report_of_a_batch_is_opened() {
    let bench = Bench::new();
    bench.run("batch run --prompt 'a fox' --output pictures").ok();
    let words = ["batch", "report", "--ledger", "pictures", "--open"];
    let outcome = run(with_desktop(&bench, &words, Some("echo \"$1\" >> opened"))).ok();
    assert_eq!(outcome.text(), "pictures/report.html\n");
    assert_eq!(bench.place.read("opened"), b"pictures/report.html\n");
    fs::remove_dir_all(bench.place.path("desktop")).unwrap();
    let outcome = run(with_desktop(&bench, &words, None)).ok();
    assert_eq!(
        outcome.stderr,
        "warning: could not open pictures/report.html: found no program that opens files\n"
    );
}

#[test]
fn nothing_is_opened_without_a_picture() {
    let bench = Bench::new();
    let words = [&FOX[..], &["--dry-run"]].concat();
    run(with_desktop(&bench, &words, Some("touch opened"))).ok();
    assert_eq!(bench.place.files(), ["desktop"]);
    assert_eq!(bench.simulator.counts().accepted, 0);
}
