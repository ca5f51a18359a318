//! `kiln resume`: a killed command loses no paid picture, and nothing is paid for twice.

use std::{
    fs, thread,
    time::{Duration, SystemTime},
};

use image::ImageFormat;
use imagekiln_simulator::Config;
use serde_json::json;

use crate::{
    bench::{AGES, Bench, Outcome, Place, fox, kind_of, small},
    history::history,
    running::{Running, resume_command},
    server::Server,
};

/// A simulator whose clock stands still, and a command that waits for its task there.
fn waiting(output: &str) -> (Bench, Running) {
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    let mut run = Running::start(&mut bench.kiln(&fox(&["--output", output])));
    run.until("submitted task");
    (bench, run)
}

/// Submits a task whose picture is small.
fn submit(bench: &Bench, prompt: &str, output: &str) {
    let words = ["task", "submit", "gen-2-pro", "--prompt", prompt, "--output", output];
    bench.run(&small(&words)).ok();
}

#[track_caller]
fn assert_charged_once(bench: &Bench) {
    let counts = bench.simulator.counts();
    assert_eq!((counts.accepted, counts.charged.hundredths()), (1, 300));
}

#[test]
fn a_killed_command_is_resumed_with_its_picture_where_it_was_meant_to_go() {
    let (bench, run) = waiting("fox.png");
    run.kill();
    assert_eq!(history(&bench)[0]["state"], "unfinished");
    bench.simulator.clock().advance(AGES);

    fs::create_dir(bench.place.path("elsewhere")).unwrap();
    let elsewhere = bench.place.path("elsewhere").canonicalize().unwrap();
    let resumed = Outcome::of_run(bench.kiln("resume").current_dir(elsewhere)).ok();
    let path = bench.place.path("fox.png").canonicalize().unwrap();
    assert_eq!(resumed.text(), format!("{}\n", path.display()));
    assert_eq!(kind_of(&bench.place.read("fox.png")), ImageFormat::Png);
    assert_charged_once(&bench);
    assert_eq!(history(&bench)[0]["state"], "saved");

    let again = bench.run("resume").ok();
    assert_eq!((again.text(), again.stderr.as_str()), (String::new(), "nothing is unfinished\n"));
    assert_eq!(bench.simulator.counts().delivered, 1);
}

#[test]
fn a_picture_that_was_meant_for_standard_output_is_saved_in_the_directory_of_its_command() {
    let (bench, run) = waiting("-");
    run.kill();
    bench.simulator.clock().advance(AGES);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut resume = bench.kiln("resume");
    let resumed = Outcome::of_run(resume.current_dir(elsewhere.path())).ok().text();
    let directory = bench.place.path("").canonicalize().unwrap();
    let name = std::path::Path::new(resumed.trim()).strip_prefix(directory).unwrap();
    let name = name.to_str().unwrap();
    assert!(name.starts_with("a-fox-") && name.ends_with(".jpg"), "{resumed}");
    assert_eq!(bench.place.files(), [name]);
}

/// Only the service that accepted a task knows it, and no other service may get its key.
#[test]
fn a_task_of_another_service_is_left_to_its_profile() {
    let (bench, run) = waiting("fox.png");
    run.kill();
    bench.place.configure("[profile.work]\nmax_active = 2\n");
    let other = Server::new();
    for words in [&["resume"][..], &["task", "wait", "@1"], &["task", "save", "@1"]] {
        for (profile, advice) in [
            ("work", "run `kiln --profile default "),
            ("default", "set the base URL and the key of that service"),
        ] {
            let mut command = bench.kiln(&[words, &["--profile", profile]].concat());
            let refused = Outcome::of_run(other.point(&mut command)).fails(6);
            let stderr = refused.stderr;
            assert!(stderr.contains("@1 was sent to another service, http://127"), "{stderr}");
            assert!(stderr.contains(advice), "{stderr}");
            assert!(!stderr.contains("dismiss"), "{stderr}");
        }
    }
    bench.simulator.clock().advance(AGES);
    bench.run("resume").ok();
    assert_charged_once(&bench);
}

/// Keys are replaced, so another key is not an error.
#[test]
fn another_key_of_the_service_is_named_once() {
    let bench = Bench::new();
    for output in ["one.png", "two.png"] {
        bench.run(&fox(&["--output", output])).ok();
    }
    for (key, warnings) in [(bench.simulator.api_key(), 0), ("sk-of-another-account", 1)] {
        let outcome = bench.run_with(&[("IMAGEKILN_API_KEY", key)], "task status @1");
        let found = outcome.stderr.matches("@1 was paid with another API key").count();
        assert_eq!(found, warnings, "{outcome:?}");
    }
}

#[test]
fn a_submission_killed_before_its_response_is_unknown_and_never_sent_again() {
    let bench = Bench::new();
    bench.simulator.clock().set_speed(0.0);
    bench.simulator.faults().add("slow-headers@submission=60:1x").unwrap();
    let mut command = bench.kiln(&fox(&["--output", "fox.png"]));
    let run = Running::start(&mut command);
    let started = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    while bench.simulator.counts().accepted == 0 {
        let waited = SystemTime::UNIX_EPOCH.elapsed().unwrap() - started;
        assert!(waited < Duration::from_secs(60), "no submission arrived");
        std::thread::yield_now();
    }
    assert_eq!(history(&bench)[0]["state"], "submitting");
    run.kill();

    assert_eq!(history(&bench)[0]["state"], "unknown");
    let listed = bench.run("task list").ok().text();
    assert!(listed.contains("kiln task dismiss @NUMBER"), "{listed}");
    for _ in 0..2 {
        let resumed = bench.run("resume").fails(8);
        assert!(
            resumed.stderr.contains("@1: error: the response to the submission"),
            "{resumed:?}"
        );
        resumed.says("kiln task dismiss @1");
        assert_eq!(resumed.text(), "");
    }
    assert!(bench.run("task save @1").fails(2).stderr.contains("has no task"));
    assert_charged_once(&bench);
    bench.run("task dismiss @1").ok();
    bench.run("resume").ok();
    assert_eq!(history(&bench)[0]["state"], "dismissed");
    assert_charged_once(&bench);
    assert_eq!(bench.place.files(), [""; 0]);
}

#[test]
fn a_task_that_another_command_waits_for_is_left_to_it() {
    let (bench, run) = waiting("fox.png");
    assert_eq!(history(&bench)[0]["state"], "waiting");
    let resumed = bench.run("resume").ok();
    assert_eq!(
        (resumed.text(), resumed.stderr.as_str()),
        (String::new(), "another command is waiting for @1\nnothing is unfinished\n")
    );
    bench.run("task dismiss @1").fails(2).says("another command is waiting");
    bench.simulator.clock().advance(AGES);
    let (code, stdout, said) = run.end();
    assert_eq!((code, stdout.as_str()), (0, "fox.png\n"), "{said}");
    assert_eq!(bench.place.files(), ["fox.png"]);
    assert_eq!(bench.simulator.counts().delivered, 1);
}

#[test]
fn two_resumes_at_once_save_each_picture_once() {
    let bench = Bench::ready_after(AGES);
    for name in ["1.jpg", "2.jpg", "3.jpg", "4.jpg"] {
        submit(&bench, "a fox", name);
    }
    bench.simulator.clock().advance(AGES);
    let both = [(); 2].map(|()| Running::start(&mut bench.kiln("resume"))).map(Running::end);
    let saved = both.iter().inspect(|(code, ..)| assert_eq!(*code, 0));
    let saved: usize = saved.map(|(_, stdout, _)| stdout.lines().count()).sum();
    assert_eq!((saved, bench.simulator.counts().delivered), (4, 4));
    assert_eq!(bench.place.files(), ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]);
}

#[test]
fn one_failure_does_not_stop_the_others() {
    let bench = Bench::ready_after(AGES);
    fs::create_dir(bench.place.path("pictures")).unwrap();
    for (prompt, file) in
        [("a fox", "pictures/lost.jpg"), ("[[error]]", "error.jpg"), ("a wolf", "wolf.jpg")]
    {
        submit(&bench, prompt, file);
    }
    fs::remove_dir(bench.place.path("pictures")).unwrap();
    bench.simulator.clock().advance(AGES);
    let resumed = bench.run("resume --json");
    assert_eq!(resumed.code, 6, "{resumed:?}");
    assert!(resumed.json()["path"].as_str().unwrap().ends_with("wolf.jpg"));
    let events = resumed.events();
    let mut failed: Vec<_> = events.iter().filter(|event| event["event"] == "not_saved").collect();
    failed.sort_by_key(|event| event["number"].as_u64());
    assert_eq!((&failed[0]["number"], &failed[0]["kind"]), (&json!(1), &json!("file")));
    assert_eq!((&failed[1]["number"], &failed[1]["kind"]), (&json!(2), &json!("task_failed")));
    assert_eq!(resumed.error()["message"], "2 of 3 submissions have no picture");
    let states: Vec<_> = history(&bench).iter().map(|line| line["state"].clone()).collect();
    assert_eq!(states, ["saved", "failed", "unfinished"]);
    fs::create_dir(bench.place.path("pictures")).unwrap();
    bench.run("resume").ok();
    bench.place.read("pictures/lost.jpg");
}

#[test]
fn an_interrupted_resume_can_be_repeated() {
    let (bench, run) = waiting("fox.png");
    run.kill();
    let mut run = Running::start(&mut bench.kiln("-vv resume"));
    run.until("polled");
    run.interrupt();
    let (code, stdout, said) = run.end();
    assert_eq!((code, stdout.as_str()), (130, ""), "{said}");
    bench.simulator.clock().advance(AGES);
    assert_eq!(bench.run("resume").ok().text(), "fox.png\n");
    assert_charged_once(&bench);
}

/// Lines in a removed file are lost, so the command must not say that the task is recorded.
#[test]
fn a_history_that_is_removed_during_a_submission_loses_no_picture() {
    let (place, server) = (Place::new(), Server::new());
    let mut command = place.kiln(&fox(&["--output", "fox.png"]));
    let run = Running::start(server.point(&mut command));
    let post = server.next();
    fs::remove_dir_all(place.history()).unwrap();
    post.respond(200, &server.accepted("a1"));
    let (code, _, said) = run.end();
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("error: task a1 is paid for, but not recorded in "), "{said}");
    assert!(!said.contains("billing: unknown") && !said.contains("nothing was sent"), "{said}");
    let command = resume_command(&said);
    assert!(command.contains(r#"kiln task save '{"id":"a1","#), "{said}");
    assert!(command.ends_with("--output fox.png"), "{said}");
}

#[test]
fn the_advice_for_a_task_that_was_not_recorded_records_it() {
    let faults = vec!["slow-headers@submission=1:always".to_owned()];
    let bench = Bench::with(Config { faults, ..Config::default() });
    bench.simulator.clock().set_speed(0.0);
    let mut run = Running::start(&mut bench.kiln(&fox(&["--output", "fox.png"])));
    while bench.simulator.counts().accepted == 0 {
        assert!(run.child.try_wait().unwrap().is_none(), "it ended before it submitted");
        thread::yield_now();
    }
    // Another process is stopped while it has the lock of the record.
    let stopped = fs::File::open(bench.place.history().join("open/1.json")).unwrap();
    stopped.lock().unwrap();
    bench.simulator.clock().set_speed(1.0);
    let (code, _, said) = run.end();
    assert_eq!(code, 6, "{said}");
    drop(stopped);
    assert_eq!(history(&bench)[0]["state"], "unknown");
    assert_eq!(bench.shell(resume_command(&said)).ok().text(), "fox.png\n");
    assert_eq!(history(&bench)[0]["state"], "saved");
    assert_charged_once(&bench);
}

/// The limit on the size of a file has the effect of a full disk.
#[test]
fn a_full_disk_sends_nothing() {
    let bench = Bench::new();
    let words = "generate 'a fox' -n 3 --width 64 --height 64 --output .";
    let limited = bench.shell(&format!("trap '' XFSZ; ulimit -f 4; kiln {words} --json")).fails(1);
    assert_eq!(bench.simulator.counts().accepted, 0);
    assert!(history(&bench).is_empty());
    let failures = limited.events();
    let failures: Vec<_> = failures.iter().filter(|event| event["event"] == "not_saved").collect();
    assert_eq!(failures.len(), 3);
    for failure in failures {
        let advice = failure["advice"].as_str().unwrap();
        assert!(failure["task"].is_null() && advice.contains("nothing was sent"), "{failure}");
    }
}

/// A file of the history that is damaged is reported with its path, and stays as it is.
#[test]
fn a_damaged_record_is_shown_and_left_alone() {
    let bench = Bench::ready_after(AGES);
    for _ in 0..2 {
        bench.run("task submit gen-2-pro --prompt 'a fox'").ok();
    }
    let path = bench.place.history().join("open/1.json");
    let half = fs::read(&path).unwrap()[..100].to_owned();
    fs::write(&path, &half).unwrap();
    for words in [&["history"][..], &["task", "list"]] {
        let shown = bench.run(words).ok().text();
        let row = shown.lines().find(|line| line.starts_with("@1")).unwrap();
        assert!(row.contains("unreadable"), "{shown}");
    }
    let shown = json!({ "number": 1, "state": "unreadable", "path": path });
    assert_eq!(history(&bench)[1], shown);
    for words in [&["task", "dismiss", "@1"][..], &["task", "save", "@1"], &["show", "@1"]] {
        let said = bench.run(words).fails(1).stderr;
        assert!(said.contains("submission @1 is unreadable\ncaused by: its first line"), "{said}");
        assert!(said.contains("it may name a paid task"), "{said}");
    }
    bench.run("task dismiss @2").ok();
    bench.run("resume").fails(1).says("1 of 1 submissions have no picture");
    assert_eq!(fs::read(&path).unwrap(), half);
}

#[test]
fn a_picture_that_did_not_get_its_name_is_unfinished() {
    let bench = Bench::new();
    submit(&bench, "a fox", "{slug}/fox.{ext}");
    // The check before the payment may have made it.
    let _ = fs::remove_dir(bench.place.path("a-fox"));
    bench.place.write("a-fox", "a file");
    bench.run("resume").fails(6).says("task save @1");
    assert_eq!(bench.place.files(), ["a-fox"]);
    assert_eq!(history(&bench)[0]["state"], "unfinished");
    fs::remove_file(bench.place.path("a-fox")).unwrap();
    assert_eq!(bench.run("resume").ok().text(), "a-fox/fox.jpg\n");
    assert_charged_once(&bench);
}

#[test]
fn a_task_that_another_command_waits_for_can_be_saved() {
    let (bench, run) = waiting("fox.png");
    run.signal("-STOP");
    bench.simulator.clock().advance(AGES);
    assert!(bench.run("task status @1").ok().text().ends_with(": Ready\n"));
    assert_eq!(history(&bench)[0]["state"], "waiting");
    assert_eq!(bench.run("task save @1").ok().text(), "fox.png\n");
    assert_eq!(history(&bench)[0]["state"], "saved");
    run.kill();
    assert_eq!(history(&bench)[0]["state"], "saved");
    assert_eq!(bench.run("resume").ok().stderr, "nothing is unfinished\n");
    bench.run("task submit gen-2-pro --prompt 'a fox'").ok();
    let states: Vec<_> = history(&bench).iter().map(|line| line["state"].clone()).collect();
    assert_eq!(states, ["unfinished", "saved"]);
    assert_eq!(bench.simulator.counts().delivered, 1);
}

/// The command that submitted the task has ended.
#[test]
fn a_task_that_is_being_saved_is_left_to_its_command() {
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    submit(&bench, "a fox", "fox.png");
    let mut run = Running::start(&mut bench.kiln("-vv task save @1"));
    run.until("polled");
    let resumed = bench.run("resume --deadline 5").ok();
    assert_eq!(resumed.stderr, "another command is waiting for @1\nnothing is unfinished\n");
    bench.simulator.clock().advance(AGES);
    assert_eq!(run.end().0, 0);
    assert_eq!(
        (bench.place.files(), bench.simulator.counts().delivered),
        (vec!["fox.png".into()], 1)
    );
}

/// A command that runs for long leaves what others have begun.
#[test]
fn a_command_does_not_keep_others_from_resuming_what_it_did_not_submit() {
    let (bench, first) = waiting("first.png");
    first.kill();
    let mut second = Running::start(&mut bench.kiln(&fox(&["--output", "second.png"])));
    second.until("submitted task");
    second.signal("-STOP");
    bench.simulator.clock().advance(AGES);
    let resumed = bench.run("resume").ok();
    assert_eq!(resumed.text(), "first.png\n");
    resumed.says("another command is waiting for @2");
    second.kill();
}
