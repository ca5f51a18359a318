//! Ctrl-C at every step never loses a paid task. Instead of sleeping, each test waits for output or
//! a request of the program.

use image::ImageFormat;
use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{AGES, Bench, Place, kind_of},
    running::{Running, resume_command},
    server::{Exchange, Server},
};

const FOX: [&str; 8] = ["run", "gen-2-pro", "--prompt", "a fox", "--width", "64", "--height", "64"];

#[test]
fn an_interrupted_wait_is_resumed_with_the_printed_command() {
    for (signal, flags) in [("-INT", &[][..]), ("-TERM", &[]), ("-INT", &["--json"])] {
        let bench = Bench::ready_after(AGES);
        let words = [&FOX[..], &["--output", "it's a fox.png"], flags].concat();
        let mut run = Running::start(&mut bench.kiln(&words));
        run.until("submitted");
        run.signal(signal);
        let (code, stdout, said) = run.end();
        assert_eq!((code, stdout.as_str()), (130, ""), "{said}");
        assert_eq!(bench.place.files(), [""; 0]);
        let command = if flags.is_empty() {
            resume_command(&said).to_owned()
        } else {
            let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
            assert_eq!([&error["kind"], &error["exit_code"]], [&json!("interrupted"), &json!(130)]);
            assert_eq!(error["task"]["id"], bench.simulator.tasks()[0].id);
            error["resume"].as_str().unwrap().to_owned()
        };
        assert_eq!(command, format!("{} task save @1", env!("CARGO_BIN_EXE_kiln")));

        bench.simulator.clock().advance(AGES);
        let saved = bench.shell(&command).ok();
        assert_eq!(saved.text(), "it's a fox.png\n");
        assert_eq!(kind_of(&bench.place.read("it's a fox.png")), ImageFormat::Png);
        let counts = bench.simulator.counts();
        assert_eq!((counts.accepted, counts.charged.hundredths(), counts.delivered), (1, 300, 1));
    }
}

#[test]
fn an_interrupted_wait_for_a_task_reports_the_task() {
    let bench = Bench::ready_after(AGES);
    let task = bench.run(&[&["task", "submit"], &FOX[1..]].concat()).ok().text();
    let mut run =
        Running::start(&mut bench.kiln(&["-vv", "task", "save", task.trim(), "-o", "fox.jpg"]));
    run.until("polled");
    run.interrupt();
    let (code, _, said) = run.end();
    assert_eq!(code, 130, "{said}");
    bench.simulator.clock().advance(AGES);
    bench.shell(resume_command(&said)).ok();
    assert_eq!(bench.place.files(), ["fox.jpg"]);
}

/// A submission that reached the server, which has not responded yet.
fn in_flight(place: &Place, server: &Server, words: &[&str]) -> (Running, Exchange) {
    let mut command = place.kiln(words);
    let run = Running::start(server.point(&mut command));
    let post = server.next();
    assert!(post.line.starts_with("POST /v1/gen-2-pro "), "{}", post.line);
    (run, post)
}

#[test]
fn a_submission_in_flight_is_finished_first() {
    let (place, server) = (Place::new(), Server::new());
    let words = [&FOX[..], &["-o", "fox.png", "--no-history"]].concat();
    let (mut run, post) = in_flight(&place, &server, &words);
    run.interrupt();
    run.until("finishing the submission");
    post.respond(200, &server.accepted("a1"));
    run.until("submitted task a1");
    let (code, stdout, said) = run.end();
    assert_eq!((code, stdout.as_str()), (130, ""), "{said}");
    let command = resume_command(&said);
    let reference = format!(
        r#"'{{"id":"a1","polling_url":"{}/v1/get_result?id=a1","operation":"gen-2-pro"}}'"#,
        server.url()
    );
    assert_eq!(
        command,
        format!("{} task save {reference} --output fox.png", env!("CARGO_BIN_EXE_kiln"))
    );
}

#[test]
fn a_submission_rejected_after_the_interruption_was_not_charged() {
    let (place, server) = (Place::new(), Server::new());
    let (mut run, post) = in_flight(&place, &server, &FOX);
    run.interrupt();
    run.until("finishing the submission");
    post.respond(403, &json!({ "detail": "no" }));
    let (code, _, said) = run.end();
    assert_eq!(code, 3, "{said}");
}

#[test]
fn a_second_interruption_abandons_the_submission() {
    let (place, server) = (Place::new(), Server::new());
    let (mut run, _post) = in_flight(&place, &server, &[&FOX[..], &["--quiet"]].concat());
    run.interrupt();
    run.until("finishing the submission");
    run.interrupt();
    let (code, _, said) = run.end();
    assert_eq!(code, 8, "{said}");
    assert_shown!("abandoned", said);
}

#[test]
fn an_interrupted_submit_prints_its_task() {
    let (place, server) = (Place::new(), Server::new());
    let (mut run, post) = in_flight(&place, &server, &[&["task", "submit"], &FOX[1..]].concat());
    run.interrupt();
    run.until("finishing the submission");
    let mut accepted = server.accepted("a1");
    accepted["cost"] = json!(4);
    post.respond(200, &accepted);
    let (code, stdout, said) = run.end();
    assert_eq!(code, 130, "{said}");
    let task: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&task["id"], &task["cost"]), (&json!("a1"), &json!(4.0)));
    resume_command(&said);
}

/// `/dev/full` fails every write. A closed pipe would too, unless a child of another test holds it
/// open.
#[cfg(target_os = "linux")]
#[test]
fn a_submit_that_cannot_print_its_task_reports_it_on_standard_error() {
    let bench = Bench::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = Running::start_into(
        &mut bench.kiln(&[&["task", "submit"], &FOX[1..]].concat()),
        full.into(),
    );
    let (code, _, said) = run.end();
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("could not write the task to standard output"), "{said}");
    bench.shell(resume_command(&said)).ok();
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn a_blocked_write_of_the_picture_can_be_interrupted() {
    let bench = Bench::new();
    bench.shell("mkfifo pipe").ok();
    let mut run =
        Running::start(&mut bench.kiln(&[&["-v"], &FOX[..], &["--output", "pipe"]].concat()));
    run.until("submitted task");
    run.interrupt();
    let (code, _, said) = run.end();
    assert_eq!(code, 130, "{said}");
    bench.shell(&format!("exec 3<>pipe; {}; head -c 100 <&3 > head", resume_command(&said))).ok();
    assert_eq!(kind_of(&bench.place.read("head")), ImageFormat::Jpeg);
}

#[test]
fn an_interrupted_download_leaves_nothing_behind() {
    let (place, server) = (Place::new(), Server::new());
    let (mut run, post) = in_flight(&place, &server, &[&FOX[..], &["-o", "fox.png"]].concat());
    post.respond(200, &server.accepted("a1"));
    run.until("submitted task a1");
    server.next().respond(200, &server.ready());
    let _delivery = server.next();
    run.interrupt();
    let (code, _, said) = run.end();
    assert_eq!(code, 130, "{said}");
    resume_command(&said);
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn an_interrupted_simulated_task_is_reported_as_gone() {
    let place = Place::new();
    let mut run = Running::start(&mut place.kiln(&[&["--simulate"], &FOX[..]].concat()));
    run.until("submitted task");
    run.interrupt();
    let (code, _, said) = run.end();
    // If the task's one second is over before the signal comes, there is a picture.
    assert!(
        code == 0 || code == 130 && said.contains("disappeared with the in-process simulator"),
        "{code}: {said}"
    );
    assert!(!said.contains("resume it"), "{said}");
}
