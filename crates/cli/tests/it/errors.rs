//! Each kind of error: the text, the JSON, and the exit code. `mistakes` has those that users can
//! avoid.

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{AGES, Bench, Outcome, Place, Words},
    server::Server,
};
use imagekiln_testbed::ClosedPort;

/// The text of an error, with its exit code.
pub fn shown(outcome: &Outcome) -> String {
    assert_eq!(outcome.text(), "");
    format!("{}\nexit code {}", outcome.stderr.trim_end(), outcome.code)
}

#[test]
fn of_the_command_line_for_programs() {
    let place = Place::new();
    let error = |words: &[&str]| place.run(words).fails(2).error();
    for (words, message, advice) in [
        (
            &["run", "gen-2-prp", "--json"][..],
            "unknown model 'gen-2-prp'; did you mean `gen-2-pro`?",
            "`kiln models` lists all models",
        ),
        (
            &["--json", "generate", "x", "--widht", "3"],
            "unexpected argument '--widht' found",
            "'--width'",
        ),
        (
            &["--json", "generate"],
            "the following required arguments were not provided: <PROMPT>...",
            "`kiln --help`",
        ),
    ] {
        let error = error(words);
        assert_eq!((&error["event"], &error["kind"]), (&json!("error"), &json!("usage")));
        assert_eq!(error["message"], message);
        assert!(error["advice"].as_str().unwrap().contains(advice), "{error}");
    }
}

#[test]
fn of_other_mistakes_for_programs() {
    let place = Place::new();
    let settings = place.run("generate 'a fox' --json").fails(2).error();
    assert_shown!("no_key_json", format!("{settings:#}"));
    let bench = Bench::new();
    let values = bench.run("run gen-2-pro --width 16 --json").fails(2).error();
    assert_shown!("bad_values_json", format!("{values:#}"));
    let key = [("IMAGEKILN_API_KEY", "A-WRONG-KEY")];
    let refused = bench.run_with(&key, "generate 'a fox' --json").fails(3);
    assert_eq!(refused.error()["status"], 403);
}

#[test]
fn of_the_network() {
    let place = Place::new();
    let closed = ClosedPort::reserve();
    let settings = [("IMAGEKILN_API_KEY", "a-key"), ("IMAGEKILN_BASE_URL", &*closed.url())];
    assert_shown!("unreachable", shown(&place.run_with(&settings, "generate 'a fox'").fails(7)));
}

#[test]
fn of_the_task() {
    let bench = Bench::new();
    for (word, code) in
        [("error", 4), ("not-found", 4), ("request-moderated", 5), ("content-moderated", 5)]
    {
        let line = format!("generate [[{word}]] --quiet -s 64x64");
        assert_shown!(format!("task_{word}"), shown(&bench.run(&line).fails(code)));
    }
}

#[test]
fn of_the_deadline() {
    let bench = Bench::ready_after(AGES);
    let line = "generate 'a fox' -s 64x64 --quiet --deadline 4 -o 'my fox.png'";
    assert_shown!("deadline", shown(&bench.run(line).fails(6)));
    let simulated = "--simulate generate 'a fox [[stale-status:always]]' -s 64x64 -q --deadline 4";
    assert_shown!("deadline_simulated", shown(&bench.place.run(simulated).fails(6)));
}

/// Runs a command against a scripted server.
pub fn scripted<W: Words + ?Sized>(words: &W, respond: impl FnOnce(&Server)) -> Outcome {
    let (place, server) = (Place::new(), Server::new());
    server.run(&mut place.kiln(words), respond)
}

#[test]
fn of_billing_that_is_unknown() {
    let cut = scripted("generate 'a fox'", |server| server.next().hang_up());
    assert_shown!(
        "cut_off",
        shown(&cut.fails(8)).replace("connection closed before message completed", "CUT")
    );
    for (status, body, kind) in [(500, json!({}), "service"), (200, json!([]), "response")] {
        let respond = |server: &Server| server.next().respond(status, &body);
        let error = scripted("generate 'a fox' --json", respond).fails(8).error();
        assert_eq!([&error["kind"], &error["may_have_been_billed"]], [&json!(kind), &json!(true)]);
    }
}

#[test]
fn of_a_polling_host_that_is_not_allowed_the_key() {
    let elsewhere = "https://polls.example.net/v1/get_result?id=a1";
    let accepted = json!({ "id": "a1", "polling_url": elsewhere });
    let outcome = scripted(&["generate", "a fox"], |server| server.next().respond(200, &accepted));
    assert_shown!("key_withheld", shown(&outcome.fails(6)));
}

#[test]
fn of_a_service_that_is_busy() {
    // The service asks for a longer wait than the command accepts.
    let busy = scripted(&["generate", "a fox"], |server| {
        server.next().respond_with(429, "retry-after: 3600\r\n", &Value::Null);
    });
    assert_shown!("rate_limited", shown(&busy.fails(7)));
}

#[test]
fn a_picture_that_cannot_be_saved_is_not_lost() {
    let accepted = |server: &Server| {
        let post = server.next();
        assert!(post.line.starts_with("POST "), "{}", post.line);
        post.respond(200, &server.accepted("a1"));
        let mut ready = server.ready();
        ready["result"]["sample"] = format!("{}/picture?signature=HUSH", server.url()).into();
        server.next().respond(200, &ready);
        // The SDK makes four attempts in all.
        for _ in 0..4 {
            server.next().respond(200, &json!("no picture"));
        }
    };
    let outcome = scripted(&["generate", "a fox", "-o", "fox.png"], accepted).fails(6);
    assert!(!outcome.stderr.contains("HUSH"));
    assert_shown!("no_picture", shown(&outcome));
}

#[test]
fn what_an_error_quotes_does_not_control_the_terminal() {
    let bench = Bench::new();
    let name = "cat\u{1b}[2J\u{7f}\u{9b}1m\u{202e}.png";
    let people = bench.run(&["edit", "a hat", name]).fails(1).stderr;
    assert!(people.starts_with("error: could not read the image cat [2J  1m .png\n"), "{people:?}");
    let programs = bench.run(&["edit", "a hat", name, "--json"]).fails(1).stderr;
    assert!(programs.is_ascii(), "{programs:?}");
    let error: Value = serde_json::from_str(&programs).unwrap();
    assert_eq!(error["message"], format!("could not read the image {name}"));
}

#[test]
fn an_error_about_json_does_not_quote_a_polling_url() {
    let bench = Bench::new();
    bench.place.write("task.json", r#""https://a.example/poll?id=1&signature=HUSH""#);
    let outcome = bench.run("task status task.json").fails(2);
    assert!(
        outcome.stderr.starts_with("error: could not parse the task: expected "),
        "{outcome:?}"
    );
    assert!(!outcome.stderr.contains("HUSH"), "{outcome:?}");
}
