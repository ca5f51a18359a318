//! `--record DIR`

use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, Place, png};
use imagekiln::recording::{RecordedBody, Recording};

/// The names of the files in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read(directory: &Path) -> Vec<Recording> {
    let read = |name: String| std::fs::read(directory.join(name)).unwrap();
    names(directory).into_iter().map(|name| serde_json::from_slice(&read(name)).unwrap()).collect()
}

fn json(body: &RecordedBody) -> &Value {
    let RecordedBody::Json(value) = body else { panic!("{body:?}") };
    value
}

#[test]
fn each_exchange_is_a_file() {
    let bench = Bench::new();
    bench.place.write("cat.png", png(64, 64));
    bench.run("edit 'a hat' cat.png --record new/recordings -o fox.png").ok();
    let directory = bench.place.path("new/recordings");
    let found = names(&directory);
    assert_eq!(found.len(), 2, "{found:?}");
    for (name, end) in
        found.iter().zip(["-0001-gen-2-pro-submit.json", "-0002-gen-2-pro-poll.json"])
    {
        let stamp = name.strip_suffix(end).unwrap_or_else(|| panic!("{name}"));
        let shape: String =
            stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "00000000T000000Z");
    }
    let recordings = read(&directory);
    let request = json(recordings[0].request.as_ref().unwrap());
    assert_eq!(request["prompt"], "[text, 5 characters]");
    assert_eq!(request["input_image"], "[image from a file]");
    assert_eq!(json(&recordings[1].response)["status"], "Ready");
}

#[test]
fn files_are_never_replaced() {
    let bench = Bench::new();
    for _ in 0..3 {
        bench.run("--record recordings task submit gen-2-pro --prompt 'a fox'").ok();
    }
    assert_eq!(read(&bench.place.path("recordings")).len(), 3);
}

#[cfg(unix)]
#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;

    let bench = Bench::new();
    bench.run("run gen-tools/deblur-v1 --image https://a.example/b.png?k=1 --record r");
    let directory = bench.place.path("r");
    let found = names(&directory);
    assert!(found[0].ends_with("Z-0001-gen-tools-deblur-v1-submit.json"), "{found:?}");
    for name in found {
        let mode = std::fs::metadata(directory.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn recordings_contain_no_secrets() {
    let bench = Bench::new();
    let webhook = [
        ("IMAGEKILN_WEBHOOK_URL", "http://127.0.0.1:9/hook?token=hidden"),
        ("IMAGEKILN_WEBHOOK_SECRET", "the-webhook-secret"),
    ];
    bench.run_with(&webhook, "run gen-2-pro --prompt 'a secret fox' --record r").ok();
    let directory = bench.place.path("r");
    for name in names(&directory) {
        let text = std::fs::read_to_string(directory.join(name)).unwrap();
        for secret in [bench.simulator.api_key(), "hidden", "the-webhook-secret", "fox", "sig="] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn the_simulator_is_recorded() {
    let place = Place::new();
    place.run("--simulate --record r generate 'a fox' --width 64 -o a.png").ok();
    assert!(read(&place.path("r")).len() >= 2);
}

/// Compares what the program recorded with the contract and the types.
#[test]
fn recordings_fit_the_contract() {
    let bench = Bench::new();
    bench.place.write("cat.png", png(128, 128));
    bench.place.write("mask.png", png(128, 128));
    let commands: [&[&str]; 5] = [
        &["generate", "a fox", "--width", "64", "--height", "64", "-o", "a.png"],
        &["edit", "a hat", "cat.png", "--webhook-url", "http://127.0.0.1:9/?k=1", "-o", "b.png"],
        &["run", "gen-pro-1.0-fill", "--image", "cat.png", "--mask", "mask.png", "-o", "c.png"],
        &["run", "gen-tools/deblur-v1", "--image", "https://a.example/b.png?k=1", "-o", "d.png"],
        &["run", "gen-2-pro", "--prompt", "a fox [[content-moderated]]", "-o", "e.png"],
    ];
    for command in commands {
        bench.run(&[command, &["--record", "r"]].concat());
    }
    let (files, unreadable) = imagekiln_conformance::read(&bench.place.path("r")).unwrap();
    assert!(files.len() >= 2 * commands.len() && unreadable.is_empty(), "{files:?}");
    let document = imagekiln_conformance::Document::load().unwrap();
    let in_progress = imagekiln_conformance::IN_PROGRESS.map(str::to_owned);
    for file in &files {
        assert_eq!(imagekiln_conformance::check(&document, &in_progress, file), []);
    }
}

/// Removes the directory while the task is in progress.
#[cfg(unix)]
#[test]
fn a_recording_that_cannot_be_written_is_a_warning() {
    use std::{io::Read, process::Stdio, time::Duration};

    let bench = Bench::ready_after(Duration::from_secs(3));
    let mut child = bench
        .kiln("run gen-2-pro --prompt 'a fox' --record r -o fox.png")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let directory = bench.place.path("r");
    while !directory.is_dir() || names(&directory).iter().all(|name| name.starts_with('.')) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(child.wait().unwrap().success());
    let mut shown = String::new();
    child.stderr.take().unwrap().read_to_string(&mut shown).unwrap();
    let warning = "warning: could not record an exchange in r: ";
    assert_eq!(shown.matches(warning).count(), 1, "{shown}");
    assert!(bench.place.files().contains(&"fox.png".to_owned()));
}
