//! `--key`: a picture by a name of the user's is paid for once, whatever commands ask for it.

use std::{fs, thread};

use serde_json::json;

use crate::{
    bench::{AGES, Bench, fox},
    history::history,
    running::Running,
};

fn keyed<'a>(key: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let output: &[&str] = if more.contains(&"-o") { &[] } else { &["-o", "fox.png"] };
    fox(&[&["--key", key], output, more].concat())
}

#[track_caller]
pub fn assert_paid(bench: &Bench, tasks: u64) {
    assert_eq!(bench.simulator.counts().accepted, tasks);
}

#[test]
fn the_same_command_finds_the_picture() {
    let bench = Bench::new();
    let made = bench.run(&keyed("order-17/cover", &[])).ok();
    let found = bench.run(&keyed("order-17/cover", &[])).ok();
    assert_eq!((made.text(), found.text()), ("fox.png\n".to_owned(), "fox.png\n".to_owned()));
    found.says("@1 has the key, so nothing was sent");
    let [entry] = &history(&bench)[..] else { panic!("not one submission") };
    assert_eq!([&entry["key"], &entry["attempt"]], [&json!("order-17/cover"), &json!(1)]);

    let other = bench.run(&keyed("order-17/cover", &["--seed", "8"])).fails(2);
    assert_eq!(other.stderr.matches("digest").count(), 1, "{}", other.stderr);
    // The service still has the picture.
    fs::remove_file(bench.place.path("fox.png")).unwrap();
    bench.run(&keyed("order-17/cover", &[])).ok();
    assert_eq!(bench.place.files(), ["fox.png"]);
    bench.simulator.clock().advance(AGES);
    fs::remove_file(bench.place.path("fox.png")).unwrap();
    bench.run(&keyed("order-17/cover", &[])).fails(6).says("fox.png, which is gone or has changed");
    assert_paid(&bench, 1);
}

#[test]
fn several_pictures_have_a_key_each() {
    let bench = Bench::new();
    let words = keyed("cover", &["-n", "3", "-o", "fox-{index}.{ext}"]);
    bench.run(&words).ok().says("3 pictures, 9.00 credits");
    let found = bench.run(&words).ok();
    found.says("3 pictures, ");
    assert!(!found.stderr.contains("pictures, 9.00 credits"), "{}", found.stderr);
    let mut keys: Vec<_> = history(&bench).iter().map(|entry| entry["key"].clone()).collect();
    keys.sort_by_key(ToString::to_string);
    assert_eq!(keys, ["cover/1", "cover/2", "cover/3"]);
    assert_paid(&bench, 3);
}

/// A killed command leaves its picture to the next one, and of two at once, one submits.
#[test]
fn a_killed_command_and_two_at_once_pay_once() {
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    let mut run = Running::start(&mut bench.kiln(&keyed("cover", &[])));
    run.until("submitted task");
    run.kill();
    let mut both = [(); 2].map(|()| Running::start(&mut bench.kiln(&keyed("cover", &[]))));
    for run in &mut both {
        run.until("@1 has the key");
    }
    bench.simulator.clock().advance(AGES);
    for run in both {
        assert_eq!(run.end().0, 0);
    }
    assert_eq!(history(&bench)[0]["state"], "saved");
    assert_paid(&bench, 1);

    let bench = Bench::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| bench.run(&keyed("cover", &[])).ok());
        }
    });
    assert_paid(&bench, 1);
}

#[test]
fn a_lost_response_is_decided_by_a_person_and_an_attempt_is_made_on_purpose() {
    let bench = Bench::new();
    bench.simulator.faults().add("reply-lost:1x").unwrap();
    bench.run(&keyed("cover", &[])).fails(8);
    let undecided = bench.run(&keyed("cover", &[])).fails(8);
    undecided.says("nothing was sent now; if the");
    undecided.says("`kiln task dismiss @1`");
    bench.run("task dismiss @1").ok();
    bench.run(&keyed("cover", &[])).fails(2).says("`--attempt 2` asks for");
    assert_paid(&bench, 1);
    bench.run(&keyed("cover", &["--attempt", "2"])).ok();
    bench.run(&keyed("cover", &["--attempt", "2"])).ok();
    bench
        .run(&keyed("cover", &["--attempt", "3"]))
        .fails(2)
        .says("attempt 2 of the key `cover` has its pic");
    assert_paid(&bench, 2);
}

#[test]
fn a_failure_names_the_next_attempt() {
    let bench = Bench::new();
    let words = ["generate", "a fox [[error]]", "--key", "bad", "-s", "64x64"];
    bench.run(&words).fails(4).says("advice: `--attempt 2` asks for the");
    bench.run(&words).fails(4).says("advice: nothing was sent now; `--att");
    assert_paid(&bench, 1);
}

#[test]
fn simulated_tasks_end_with_their_command() {
    let bench = Bench::new();
    bench.place.run(&keyed("cover", &["--simulate"])).ok();
    assert!(history(&bench).is_empty());
}

/// Another history would pay again, so no advice names one.
#[test]
fn a_damaged_record_of_a_key_is_no_reason_to_pay() {
    let bench = Bench::new();
    bench.run(&keyed("cover", &[])).ok();
    fs::write(bench.place.history().join("closed/0/1.json"), "").unwrap();
    let refused = bench.run(&keyed("cover", &[])).fails(1);
    let stderr = refused.stderr;
    assert!(stderr.contains("its picture may be paid"), "{stderr}");
    assert!(!stderr.contains("--no-history"), "{stderr}");
    assert_paid(&bench, 1);
}

/// A submitted task waits for any command with its key.
#[test]
fn a_task_is_submitted_once() {
    let bench = Bench::new();
    let submit = ["task", "submit", "gen-2-pro", "--prompt", "a fox", "--key", "cover"];
    let first = bench.run(&submit).ok();
    let second = bench.run(&submit).ok();
    assert_eq!(first.json()["id"], second.json()["id"]);
    bench.run("run gen-2-pro --prompt 'a fox' --key cover").ok();
    assert_paid(&bench, 1);
}
