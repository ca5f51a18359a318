//! After a payment, each error says so, names the task, and gives one command that works in this
//! situation: the tests run it and find the picture.

use std::fs;

use serde_json::{Value, json};

use crate::{
    bench::{AGES, Bench, Outcome, Place, fox, kind_of, png},
    history::history,
    running::{Running, resume_command},
    server::Server,
    tasks::SUBMIT,
};

/// Submits a task for this output, which is ready at once.
fn submitted(bench: &Bench, output: &[&str]) {
    bench.run(&[&SUBMIT[..], output].concat()).ok();
}

#[track_caller]
fn assert_paid(said: &str, id: &str) {
    assert!(said.contains(&format!("(task {id})")), "{said}");
    assert!(said.contains("the task is paid for; resume it with:\n"), "{said}");
    assert!(!said.contains("nothing was sent"), "{said}");
}

/// Runs the command that an error gives, and nothing else. Returns the path of the picture.
#[track_caller]
fn follow(bench: &Bench, said: &str) -> String {
    assert_paid(said, &bench.simulator.tasks()[0].id);
    let saved = bench.shell(resume_command(said)).ok().text();
    let path = saved.trim().to_owned();
    kind_of(&fs::read(bench.place.path(&path)).unwrap());
    let counts = bench.simulator.counts();
    assert_eq!((counts.accepted, counts.charged.hundredths()), (1, 300));
    path
}

/// What `kiln resume`, `kiln task save` and the waiting command itself say if `spoil` changes the
/// place of the picture after the submission.
fn spoiled(output: &[&str], prepare: fn(&Bench), spoil: fn(&Bench)) -> Vec<(Bench, String)> {
    let later = [&["resume"][..], &["task", "save", "@1"]].map(|words| {
        let bench = Bench::new();
        prepare(&bench);
        submitted(&bench, output);
        spoil(&bench);
        let said = bench.run(words).fails(6).stderr;
        (bench, said)
    });
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    prepare(&bench);
    let mut run = Running::start(&mut bench.kiln(&fox(output)));
    run.until("submitted task");
    spoil(&bench);
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = run.end();
    assert_eq!(code, 6, "{said}");
    later.into_iter().chain([(bench, said)]).collect()
}

fn make_pictures(bench: &Bench) {
    fs::create_dir(bench.place.path("pictures")).unwrap();
}

fn remove_pictures(bench: &Bench) {
    fs::remove_dir(bench.place.path("pictures")).unwrap();
}

#[test]
fn a_missing_directory_is_made() {
    for (output, saved) in [
        ("pictures/fox.png", "pictures/fox.png"),
        ("pictures/{model}.{ext}", "pictures/gen-2-pro.jpg"),
        ("pictures", "pictures/gen-2-pro-"),
    ] {
        for (bench, said) in spoiled(&["-o", output], make_pictures, remove_pictures) {
            assert!(resume_command(&said).ends_with("task save @1 --mkdir"), "{said}");
            let path = follow(&bench, &said);
            assert!(path.starts_with(saved), "{path}");
        }
    }
}

#[test]
fn the_directory_of_a_command_is_made_again() {
    let bench = Bench::new();
    make_pictures(&bench);
    let mut submit = bench.kiln(&SUBMIT);
    Outcome::of_run(submit.current_dir(bench.place.path("pictures"))).ok();
    remove_pictures(&bench);
    follow(&bench, &bench.run("resume").fails(6).stderr);
}

/// A directory that was removed during the wait does not stop a command with `--mkdir`.
#[test]
fn mkdir_also_makes_the_directory_after_the_wait() {
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    let words = ["-o", "pictures/fox.png", "--mkdir"];
    let mut run = Running::start(&mut bench.kiln(&fox(&words)));
    run.until("submitted task");
    remove_pictures(&bench);
    bench.simulator.clock().advance(AGES);
    let (code, stdout, said) = run.end();
    assert_eq!((code, stdout.as_str()), (0, "pictures/fox.png\n"), "{said}");
}

/// Root can write to every directory, so a file takes the place of a read-only one.
#[test]
fn a_place_that_can_not_be_written_to_is_replaced() {
    let spoil = |bench: &Bench| {
        remove_pictures(bench);
        bench.place.write("pictures", "a file");
    };
    for output in [&["-o", "pictures/fox.png"][..], &["-o", "pictures/{id}.png", "--mkdir"]] {
        for (bench, said) in spoiled(output, make_pictures, spoil) {
            assert!(resume_command(&said).ends_with("task save @1 --output ."), "{said}");
            follow(&bench, &said);
            // The place of the submission is forgotten.
            assert_eq!(bench.run("resume").ok().stderr, "nothing is unfinished\n");
        }
    }
}

/// A dangling link is neither a directory, nor can one be made in its place.
#[test]
fn a_dangling_link_is_replaced() {
    let spoil = |bench: &Bench| {
        remove_pictures(bench);
        std::os::unix::fs::symlink("nowhere/x", bench.place.path("pictures")).unwrap();
    };
    for (bench, said) in spoiled(&["-o", "pictures/fox.png"], make_pictures, spoil) {
        assert!(resume_command(&said).ends_with("--output ."), "{said}");
        follow(&bench, &said);
    }
}

#[test]
fn another_output_is_kept_in_the_command() {
    let bench = Bench::new();
    submitted(&bench, &["-o", "a.png"]);
    let said = bench.run("task save @1 -o pictures/b.png --overwrite").fails(6).stderr;
    assert_eq!(follow(&bench, &said), "pictures/b.png");
}

/// A limit on the size of files, because a test can't fill a file system.
#[test]
fn a_full_disk_is_named_and_the_command_works_when_there_is_space() {
    let bench = Bench::new();
    let words = "generate 'a fox' --size 2048x1536 --output fox.png";
    let limited = bench.shell(&format!("trap '' XFSZ; ulimit -f 40; kiln {words}")).fails(6);
    let said = &limited.stderr;
    assert!(said.contains("\nadvice: free some space first\n"), "{said}");
    assert!(resume_command(said).ends_with("task save @1"), "{said}");
    assert_paid(said, &bench.simulator.tasks()[0].id);
    assert_eq!(bench.place.files(), [""; 0]);
    assert_eq!(bench.shell(resume_command(said)).ok().text(), "fox.png\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_stream_or_device_that_fails_is_replaced() {
    for redirected in ["--output - > /dev/full", "--output /dev/full"] {
        let bench = Bench::new();
        let command = format!("kiln generate 'a fox' --width 64 --height 64 {redirected}");
        let said = bench.shell(&command).fails(6).stderr;
        assert!(resume_command(&said).ends_with("task save @1 --output ."), "{said}");
        follow(&bench, &said);
    }
}

/// Nothing is left to do if only the path could not be printed.
#[cfg(target_os = "linux")]
#[test]
fn a_picture_whose_path_can_not_be_printed_is_saved() {
    let bench = Bench::new();
    let command = "kiln -q generate 'a fox' --width 64 --height 64 -o fox.png > /dev/full";
    let said = bench.shell(command).fails(1).stderr;
    let task = format!("standard output (task {})", bench.simulator.tasks()[0].id);
    assert!(said.contains(&task), "{said}");
    assert!(said.ends_with("advice: the picture is paid for and saved: fox.png\n"), "{said}");
    kind_of(&bench.place.read("fox.png"));
}

#[test]
fn options_that_can_not_work_are_left_out() {
    let bench = Bench::new();
    submitted(&bench, &[]);
    for more in [&["--output", "-", "--json"][..], &["--show"]] {
        let refused = bench.run(&[&["task", "save", "@1"], more].concat()).fails(2);
        let refused = if more.contains(&"--json") {
            format!("resume it with:\n{}", refused.error()["resume"].as_str().unwrap())
        } else {
            refused.stderr
        };
        bench.shell(resume_command(&refused)).ok();
    }
    assert_eq!(bench.place.files().len(), 2);
}

#[test]
fn a_task_that_outlasts_the_deadline_is_resumed() {
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    let said = bench.run(&fox(&["--deadline", "1", "-o", "fox.png"])).fails(6).stderr;
    bench.simulator.clock().advance(AGES);
    assert_eq!(follow(&bench, &said), "fox.png");
}

/// A scripted server: the service accepts the task, and responds to this many polls like this.
fn scripted(polls: usize, status: u16, body: &Value) -> (Place, Server, String, i32) {
    let (place, server) = (Place::new(), Server::new());
    let mut command = place.kiln(&fox(&["-o", "fox.png"]));
    let run = Running::start(server.point(&mut command));
    server.next().respond(200, &server.accepted("a1"));
    (0..polls).for_each(|_| server.next().respond(status, body));
    let (code, _, said) = run.end();
    assert_paid(&said, "a1");
    (place, server, said, code)
}

/// Runs a command while the server has the picture.
#[track_caller]
fn finish(place: &Place, server: &Server, words: &str) {
    let mut command = place.command("sh");
    command.args(["-euc", words]);
    let run = Running::start(server.point(&mut command));
    server.next().respond(200, &server.ready());
    server.next().send(&png(64, 64));
    let (code, stdout, said) = run.end();
    assert_eq!((code, stdout.as_str()), (0, "fox.png\n"), "{said}");
    kind_of(&place.read("fox.png"));
}

/// How often a command polls for an answer that contradicts the submission before it believes it.
const DOUBTED: usize = 5;

#[test]
fn a_revoked_key_loses_no_picture() {
    let (place, server, said, code) = scripted(DOUBTED, 403, &json!({ "detail": "revoked" }));
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("check the key"), "{said}");
    finish(&place, &server, resume_command(&said));
}

#[test]
fn a_task_that_is_not_found_once_is_polled_again_or_given_up() {
    let not_found = json!({ "id": "a1", "status": "Task not found" });
    let (place, server, said, code) = scripted(DOUBTED, 200, &not_found);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("`kiln task dismiss @1` gives it up"), "{said}");
    finish(&place, &server, resume_command(&said));
}

#[test]
fn the_last_line_of_several_pictures_names_what_is_left() {
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    make_pictures(&bench);
    let words = fox(&["-n", "2", "-o", "pictures/{index}.{ext}"]);
    let mut run = Running::start(&mut bench.kiln(&words));
    run.until("submitted task");
    run.until("submitted task");
    remove_pictures(&bench);
    bench.simulator.clock().advance(AGES);
    let (code, _, said) = run.end();
    assert_eq!(code, 6, "{said}");
    let last = "error: 2 of 2 pictures were not saved\n\
                advice: 2 are paid for: run the command in the report of each\n";
    assert!(said.ends_with(last), "{said}");
    let resumed = bench.run("resume").fails(6).stderr;
    assert!(resumed.ends_with("2 are paid for: run the command in the report of each\n"));
    for (number, report) in said.split("picture ").skip(1).take(2).enumerate() {
        bench.shell(resume_command(report)).ok();
        assert_eq!(history(&bench).len(), 2, "{number}");
    }
    assert_eq!(fs::read_dir(bench.place.path("pictures")).unwrap().count(), 2);
    assert_eq!(bench.simulator.counts().accepted, 2);
}
