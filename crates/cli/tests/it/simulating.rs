//! `kiln simulate`: a simulator for other processes.

use std::{iter, process::Stdio};

use serde_json::Value;

use crate::{
    assert_shown,
    bench::{Outcome, Place},
    running::Running,
    tasks::SUBMIT,
};

/// A simulator in a separate process, which ends with the test.
fn start(place: &Place, options: &str) -> Running {
    Running::start(&mut place.kiln(&format!("simulate --port 0 {options}")))
}

#[test]
fn the_printed_commands_work() {
    let place = Place::new();
    let mut simulating = start(&place, "--ready-after 0 --key my-key --model-prefix xyz");
    let lines = iter::repeat_with(|| simulating.line()).take_while(|line| !line.contains("curl"));
    let commands = lines.skip_while(|line| !line.contains("in another terminal"));
    let typed: String =
        commands.filter_map(|line| line.strip_prefix("  ").map(str::to_owned)).collect();
    let outcome = Outcome::of_run(&mut place.shell_command(&typed)).ok();
    assert_eq!(outcome.text(), "fox.png\n");
    assert_eq!(place.files(), ["fox.png"]);
}

#[test]
fn the_greeting() {
    let mut simulating = start(&Place::new(), "");
    let lines: String = iter::repeat_with(|| simulating.line()).take(18).collect();
    assert_shown!("simulate", lines);
}

#[test]
fn the_settings_of_the_user_do_not_reach_the_simulator() {
    let place = Place::new();
    place.configure("base_url = \"http://127.0.0.1:1\"\nmodel_prefix = \"xyz\"\n");
    let kiln = [env!("CARGO_BIN_EXE_kiln"), "generate", "a fox", "-s", "64x64", "-o", "fox.png"];
    place.run(&[&["simulate", "--ready-after", "0", "--"], &kiln[..]].concat()).ok();
    assert_eq!(place.files(), ["fox.png"]);
}

#[test]
fn the_page_opens_with_the_token() {
    let place = Place::new();
    let token = "a-token-of-24-characters";
    let mut simulating = start(&place, &format!("--control-token {token}"));
    let mut lines = iter::repeat_with(|| simulating.line());
    let page = lines.find(|line| line.starts_with("  page")).unwrap();
    assert!(page.ends_with(&format!("/?token={token}\n")), "{page}");
    let script = "test \"$IMAGEKILN_CONTROL_TOKEN\" = a-token-of-24-characters";
    place.run(&["simulate", "--control-token", token, "--", "sh", "-c", script]).ok();
}

#[test]
fn a_self_signed_certificate_is_written_once_and_can_be_trusted() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_kiln");
    let script = format!(
        "{program} generate 'a fox' --output $1 --width 64 --height 64 && echo $IMAGEKILN_BASE_URL"
    );
    let simulate = |picture: &str| {
        let options = ["simulate", "--ready-after", "0", "--tls-certificate", "kiln.pem"];
        let command = ["--", "sh", "-c", &script, "sh", picture];
        let trusted = [("SSL_CERT_FILE", "kiln.pem")];
        place.run_with(&trusted, &[&options[..], &command].concat())
    };
    let text = simulate("one.png").ok().text();
    assert!(text.starts_with("one.png\nhttps://127.0.0.1:"), "{text}");
    let written = std::fs::read(place.path("kiln.pem")).unwrap();
    #[cfg(unix)]
    {
        let file = std::fs::metadata(place.path("kiln.pem")).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&file) & 0o777, 0o600);
    }
    simulate("two.png").ok();
    assert_eq!(std::fs::read(place.path("kiln.pem")).unwrap(), written);
    place.write("kiln.pem", "nothing");
    assert_shown!("simulate_no_certificate", simulate("three.png").fails(2).stderr);
}

#[test]
fn json_output_contains_the_settings() {
    let place = Place::new();
    let mut simulating = start(&place, "--json --listen 127.0.0.1:0");
    let settings: Value = serde_json::from_str(&simulating.line()).unwrap();
    let variables = [
        ("IMAGEKILN_API_KEY", &settings["api_key"]),
        ("IMAGEKILN_BASE_URL", &settings["base_url"]),
    ];
    place.run_with(&variables.map(|(name, value)| (name, value.as_str().unwrap())), &SUBMIT).ok();
    assert_ne!(settings["regional_base_url"], settings["base_url"]);
}

#[test]
fn a_simulator_ends_with_its_standard_input() {
    let place = Place::new();
    let mut kiln = place.kiln("simulate --port 0 --json --stop-with-stdin");
    let mut simulating = Running::start(kiln.stdin(Stdio::piped()));
    let input = simulating.child.stdin.take().unwrap();
    assert_ne!(simulating.line(), "");
    assert!(simulating.child.try_wait().unwrap().is_none());
    drop(input);
    assert_eq!(simulating.end().0, 0);
}

#[test]
fn options_override_the_settings_of_a_file() {
    let place = Place::new();
    let settings = "api_keys = ['file-key']\nmodel_prefix = 'abc'\nprices = { submission = 42 }\n";
    place.write("kiln.toml", settings);
    let mut simulating = start(&place, "--json --config kiln.toml --model-prefix xyz");
    let settings: Value = serde_json::from_str(&simulating.line()).unwrap();
    assert_eq!(settings["model_prefix"], "xyz");
    let variables = [
        ("IMAGEKILN_API_KEY", "file-key"),
        ("IMAGEKILN_BASE_URL", settings["base_url"].as_str().unwrap()),
        ("IMAGEKILN_MODEL_PREFIX", "xyz"),
    ];
    assert_eq!(place.run_with(&variables, &SUBMIT).ok().json()["cost"], 42.0);
}

#[test]
fn a_command_runs_with_the_settings_in_its_environment() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_kiln");
    let script = format!(
        "{program} generate 'a red fox in the snow' --output fox.png --width 64 --height 64 && \
         test -n \"$IMAGEKILN_CONTROL_URL\" && exit 7"
    );
    let options = ["simulate", "--ready-after", "0", "--key", "my-key", "--model-prefix", "xyz"];
    let outcome = place.run(&[&options[..], &["--", "sh", "-c", &script]].concat()).fails(7);
    assert_eq!(outcome.text(), "fox.png\n");
    assert!(outcome.stderr.starts_with("submitted task"), "{}", outcome.stderr);
    assert_eq!(place.files(), ["fox.png"]);
    place.run("simulate -- sh -c 'kill -TERM $$'").fails(128 + 15);
}

#[cfg(unix)]
#[test]
fn a_command_ends_with_the_simulator() {
    let place = Place::new();
    // `exec`, so that the command itself writes to the pipe until it is killed.
    let script = "trap '' TERM INT; echo started; exec tail -f /dev/null";
    let words = ["simulate", "--", "sh", "-c", script];
    let mut kiln = Running::start(&mut place.kiln(&words));
    assert_eq!(kiln.line(), "started\n");
    (0..2).for_each(|_| kiln.interrupt());
    // The pipes end when nothing can write to them any more.
    assert_eq!(kiln.end().0, 130);
}
