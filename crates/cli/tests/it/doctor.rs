//! `kiln doctor`, against services that work and services that do not.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{Bench, Place},
    server::{Exchange, Server},
};
use imagekiln_testbed::ClosedPort;

/// A check's state, message and advice.
fn check<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str, &'a str) {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap();
    let text = |member: &str| check[member].as_str().unwrap_or_default();
    (text("state"), text("message"), text("advice"))
}

fn shown(place: &Place, text: &str) -> String {
    let config = place.config("config.toml").parent().unwrap().display().to_string();
    let state = place.history().parent().unwrap().display().to_string();
    text.replace(&config, "CONFIG").replace(&state, "STATE")
}

#[test]
fn a_good_service_has_no_problem_and_no_task() {
    let bench = Bench::new();
    let outcome = bench.run("doctor").ok();
    assert_shown!("doctor_good", shown(&bench.place, &outcome.text()));
    let report = bench.run("doctor --json").ok().json();
    assert_eq!(report["ok"], true);
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["state"], "ok", "{check}");
    }
    assert_eq!(bench.simulator.counts().accepted, 0);
    assert!(bench.simulator.tasks().is_empty());
}

fn doctor(place: &Place, base: &str, code: i32) -> Value {
    let settings = [("IMAGEKILN_API_KEY", "sk-secret"), ("IMAGEKILN_BASE_URL", base)];
    let outcome = place.run_with(&settings, "doctor --json").fails(code);
    assert!(!format!("{}{}", outcome.text(), outcome.stderr).contains("sk-secret"));
    let report = outcome.json();
    assert_eq!(report["ok"], code == 0);
    report
}

#[test]
fn a_refused_key_is_found() {
    let bench = Bench::new();
    let report = doctor(&bench.place, bench.simulator.base_url(), 3);
    let (state, message, advice) = check(&report, "key");
    assert_eq!(state, "problem");
    assert!(message.contains("rejected the key"), "{message}");
    assert!(advice.contains("check the key"), "{advice}");
    assert!(!format!("{message}{advice}").contains("task"), "there is none: {message}; {advice}");
    assert_eq!(check(&report, "clock").0, "ok");
}

#[test]
fn a_service_that_is_not_there_is_found() {
    let place = Place::new();
    let closed = ClosedPort::reserve();
    let report = doctor(&place, &closed.url(), 7);
    let (state, message, _) = check(&report, "address");
    assert_eq!(state, "problem");
    assert!(message.contains("could not connect to 127.0.0.1, port "), "{message}");
    for name in ["tls", "clock", "key"] {
        assert_eq!(check(&report, name).0, "skipped");
    }
    let report = doctor(&place, "https://kiln.invalid", 7);
    assert!(check(&report, "address").1.contains("could not resolve kiln.invalid"));
}

#[test]
fn https_at_an_http_port_is_found() {
    let bench = Bench::new();
    let base = bench.simulator.base_url().to_string().replace("http://", "https://");
    let report = doctor(&bench.place, &base, 7);
    let (state, _, advice) = check(&report, "tls");
    assert_eq!((state, check(&report, "address").0), ("problem", "ok"));
    assert!(advice.contains("write http:// in the base URL"), "{advice}");
    assert_eq!(check(&report, "key").0, "skipped");
}

#[test]
fn a_wrong_clock_is_found_and_the_first_request_has_no_key() {
    let place = Place::new();
    for (ahead, code, expected) in [
        (-3600, 1, "this machine is 60 minutes ahead of the service"),
        (3600, 1, "this machine is 60 minutes behind the service"),
        (60, 0, "agrees with that of the service"),
    ] {
        let server = Server::new();
        let theirs = Timestamp::now() + SignedDuration::from_secs(ahead);
        let date = httpdate::fmt_http_date(theirs.try_into().unwrap());
        let doctor = server.run(&mut place.kiln("doctor --json"), |server| {
            let first = request(server);
            assert!(!first.headers.contains("a-key"), "{}", first.headers);
            first.respond_with(404, &format!("date: {date}\r\n"), &json!({}));
            let poll = request(server);
            assert!(poll.line.starts_with("GET ") && poll.headers.contains("a-key"));
            poll.respond(200, &json!({ "id": "x", "status": "Task not found" }));
        });
        let report = doctor.fails(code).json();
        assert!(check(&report, "clock").1.contains(expected), "{report}");
        assert_eq!(check(&report, "key").0, "ok");
    }
}

/// The next request. The check of the address only connects.
fn request(server: &Server) -> Exchange {
    loop {
        let exchange = server.next();
        if !exchange.line.is_empty() {
            return exchange;
        }
    }
}

#[test]
fn what_is_missing_or_damaged_is_found() {
    let place = Place::new();
    let report = place.run("doctor --json").fails(2).json();
    assert!(check(&report, "address").1.contains("the API key and the base URL are not set"));
    place.configure("modle = 1");
    let outcome = place.run("doctor").fails(2);
    assert_shown!("doctor_damaged", shown(&place, &outcome.text()));
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_found() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.place.run_with_stdin("config login", b"a-key").ok();
    let key = bench.place.config("keys/default.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let report = bench.run("doctor --json").fails(1).json();
    let (state, message, advice) = check(&report, "config");
    assert_eq!(state, "problem");
    assert_eq!(message, format!("other users can read {}", key.display()));
    assert_eq!(advice, format!("run `chmod 600 {}`", key.display()));
}
