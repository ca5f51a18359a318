//! Each kind of error: the text, the JSON, and the exit code. `mistakes` has those that users can
//! avoid.

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{AGES, Bench, Outcome, Place},
    server::Server,
};
use imagekiln_testbed::ClosedPort;

/// The text of an error, with its exit code.
pub fn shown(outcome: &Outcome) -> String {
    assert_eq!(outcome.text(), "");
    format!("{}\nexit code {}", outcome.stderr.trim_end(), outcome.code)
}

const SMALL: [&str; 4] = ["--width", "64", "--height", "64"];

#[test]
fn of_the_settings() {
    let place = Place::new();
    assert_shown!("no_key", shown(&place.run(&["generate", "a fox"]).fails(2)));
    let json = place.run(&["generate", "a fox", "--json"]).fails(2).error();
    assert_shown!("no_key_json", format!("{json:#}"));

    let run = |base: Option<&str>, key: Option<&str>| {
        let mut command = place.kiln(&["generate", "a fox"]);
        for (name, value) in [("IMAGEKILN_BASE_URL", base), ("IMAGEKILN_API_KEY", key)] {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        Outcome::of(command.output().unwrap()).fails(2)
    };
    assert!(run(Some("http://127.0.0.1:1"), None).stderr.contains("the API key is not set\n"));
    assert!(run(None, Some("a-key")).stderr.contains("the base URL is not set\n"));
    assert!(run(Some(" "), Some("")).stderr.contains("the API key and the base URL are not set"));
    assert_shown!("bad_base", shown(&run(Some("ftp://example.com"), Some("a-key"))));

    let mut regional =
        place.kiln(&["run", "gen-pro-1.1-ultra-finetuned", "--finetune-id", "x", "-q"]);
    regional.env("IMAGEKILN_API_KEY", "a-key").env("IMAGEKILN_BASE_URL", "http://127.0.0.1:1");
    assert_shown!("no_regional_base", shown(&Outcome::of(regional.output().unwrap()).fails(2)));
}

#[test]
fn of_all_invalid_values_at_once() {
    let bench = Bench::new();
    bench.place.write("image.png", crate::bench::png(64, 64));
    let words = [
        "run",
        "gen-pro-1.0-fill",
        "--steps",
        "7",
        "--guidance",
        "high",
        "--seed",
        "1.5",
        "--prompt-upsampling=perhaps",
        "--output-format",
        "gif",
        "--safety_tolerance",
        "-1",
        "--image",
        "image.png",
        "--webhook-url",
        "example.com",
    ];
    assert_shown!("bad_values", shown(&bench.run(&words).fails(2)));
    let json = bench.run(&["run", "gen-2-pro", "--width", "16", "--json"]).fails(2).error();
    assert_shown!("bad_values_json", format!("{json:#}"));
    let path = bench.run(&["run", "{base_model}-finetuned", "--base-model", "../x"]).fails(2);
    assert_shown!("bad_path_parameter", shown(&path));
    assert_eq!(bench.simulator.counts(), Default::default());
}

#[test]
fn of_values_that_only_the_service_finds() {
    let bench = Bench::new();
    // Its first bytes are those of an image, but the service does not accept the format.
    bench.place.write("hat.psd", "8BPS\0\x01");
    assert_shown!(
        "refused_by_the_service",
        shown(&bench.run(&["edit", "a hat", "hat.psd"]).fails(2))
    );
    assert_eq!(bench.simulator.counts().accepted, 0);
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
fn of_the_key() {
    let bench = Bench::new();
    let refused = |words: &[&str]| {
        let mut command = bench.kiln(words);
        Outcome::of(command.env("IMAGEKILN_API_KEY", "A-WRONG-KEY").output().unwrap()).fails(3)
    };
    let outcome = refused(&["generate", "a fox"]);
    assert!(!outcome.stderr.contains("A-WRONG-KEY"));
    assert_shown!("refused_key", shown(&outcome));
    assert_eq!(refused(&["generate", "a fox", "--json"]).error()["status"], 403);
}

#[test]
fn of_the_network() {
    let place = Place::new();
    let closed = ClosedPort::reserve();
    let mut command = place.kiln(&["generate", "a fox"]);
    command.env("IMAGEKILN_API_KEY", "a-key").env("IMAGEKILN_BASE_URL", closed.url());
    assert_shown!("unreachable", shown(&Outcome::of(command.output().unwrap()).fails(7)));
}

#[test]
fn of_the_task() {
    let bench = Bench::new();
    for (word, code) in
        [("error", 4), ("not-found", 4), ("request-moderated", 5), ("content-moderated", 5)]
    {
        let prompt = format!("[[{word}]]");
        let words = [&["generate", prompt.as_str(), "--quiet"][..], &SMALL].concat();
        assert_shown!(format!("task_{word}"), shown(&bench.run(&words).fails(code)));
    }
}

#[test]
fn of_the_deadline() {
    let bench = Bench::ready_after(AGES);
    let words =
        [&["generate", "a fox", "--quiet", "--deadline", "4", "-o", "my fox.png"][..], &SMALL]
            .concat();
    assert_shown!("deadline", shown(&bench.run(&words).fails(6)));
    let simulated =
        [&["--simulate", "generate", "a fox", "-q", "--deadline", "4"][..], &SMALL].concat();
    assert_shown!("deadline_simulated", shown(&bench.place.run(&simulated).fails(6)));
}

/// Runs a command against a scripted server.
pub fn scripted(words: &[&str], respond: impl FnOnce(&Server)) -> Outcome {
    let (place, server) = (Place::new(), Server::new());
    let mut command = place.kiln(words);
    let child = server
        .point(&mut command)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = child.spawn().unwrap();
    respond(&server);
    Outcome::of(child.wait_with_output().unwrap())
}

#[test]
fn of_billing_that_is_unknown() {
    let cut = scripted(&["generate", "a fox"], |server| server.next().hang_up());
    assert_shown!(
        "cut_off",
        shown(&cut.fails(8)).replace("connection closed before message completed", "CUT")
    );
    let failed =
        scripted(&["generate", "a fox", "--json"], |server| server.next().respond(500, &json!({})));
    let error = failed.fails(8).error();
    assert_eq!((&error["kind"], &error["may_have_been_billed"]), (&json!("service"), &json!(true)));
    let unreadable =
        scripted(&["task", "submit", "gen-2-pro", "--prompt", "x", "--json"], |server| {
            server.next().respond(200, &json!([]));
        });
    assert_eq!(unreadable.fails(8).error()["kind"], "response");
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
        post.respond(
            200,
            &json!({ "id": "a1", "polling_url": format!("{}/v1/get_result?id=a1", server.url()) }),
        );
        let sample = format!("{}/picture?signature=HUSH", server.url());
        server.next().respond(
            200,
            &json!({ "id": "a1", "status": "Ready", "result": { "sample": sample } }),
        );
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
    let outcome = bench.run(&["task", "status", "task.json"]).fails(2);
    assert!(
        outcome.stderr.starts_with("error: could not parse the task: expected "),
        "{outcome:?}"
    );
    assert!(!outcome.stderr.contains("HUSH"), "{outcome:?}");
}
