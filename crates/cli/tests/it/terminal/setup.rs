//! `kiln setup` against a simulator.

use std::{fs, process::Command};

use crate::{
    bench::{AGES, Bench, Place},
    terminal::{Piped, Setup, Terminal},
};

const URL: &str = "Base URL of the service";
const OFFER: &str = "service accepts the request [y/N]:";

/// The command with neither a key nor a base URL in its environment.
fn setup(place: &Place, words: &[&str]) -> Command {
    place.kiln(&[&["setup"], words].concat())
}

fn key_of(profile: &str) -> String {
    format!("API key of profile `{profile}`")
}

/// Answers the first two questions.
fn answer(terminal: &mut Terminal, bench: &Bench, profile: &str) {
    terminal.until(URL);
    terminal.press(&format!("{}\r", bench.simulator.base_url()));
    terminal.until(&key_of(profile));
    terminal.press(&format!("{}\r", bench.simulator.api_key()));
}

fn file(place: &Place, name: &str) -> String {
    fs::read_to_string(place.config(name)).unwrap()
}

#[test]
fn from_nothing_to_a_first_picture() {
    let bench = Bench::new();
    let place = &bench.place;
    place.configure("size = \"64x64\" # small\n");
    let mut terminal = Terminal::start(setup(place, &[]));
    terminal.until(URL);
    terminal.press("ftp://x\r");
    terminal.until("advice: correct it");
    terminal.press(&format!("{}\r", bench.simulator.base_url()));
    terminal.until(&key_of("default"));
    assert!(!terminal.echoes());
    terminal.press("sk-a b\r");
    // What is typed before the question would be shown, and is thrown away.
    terminal.until_it("a second question", |terminal| {
        terminal.text().matches(&key_of("default")).count() == 2
    });
    assert!(terminal.text().contains("a key is one line"), "{}", terminal.text());
    terminal.press(&format!("{}\r", bench.simulator.api_key()));
    terminal.until(OFFER);
    assert!(terminal.echoes());
    assert!(
        terminal.text().contains("the service accepts it (kiln config login)"),
        "{}",
        terminal.text()
    );
    let url = bench.simulator.base_url();
    let config = format!("size = \"64x64\" # small\nbase_url = \"{url}\"\n");
    assert_eq!(file(place, "config.toml"), config);
    assert_eq!(file(place, "keys/default.key"), format!("{}\n", bench.simulator.api_key()));
    assert_eq!(bench.simulator.counts().accepted, 0);
    terminal.press("y\r");
    terminal.end().ok();
    assert_eq!(bench.simulator.counts().accepted, 1);
    assert_eq!(bench.last_request()["prompt"], "a red fox in the snow");
    assert_eq!(place.files().len(), 1);
    let history = place.run("history").ok().text();
    assert!(history.contains("saved") && history.contains(&place.files()[0]), "{history}");
    for secret in ["sk-a", bench.simulator.api_key()] {
        assert!(!terminal.raw().contains(secret), "{}", terminal.raw());
    }
}

#[test]
fn repeating_it_changes_nothing() {
    let bench = Bench::new();
    let place = &bench.place;
    for round in 0..2 {
        let mut terminal = Terminal::start(setup(place, &["--profile", "work"]));
        if round == 0 {
            answer(&mut terminal, &bench, "work");
        } else {
            terminal.until(&format!("{URL} [{}]:", bench.simulator.base_url()));
            terminal.press("\r");
            terminal.until(&format!("{} [Enter keeps that of kiln config login]:", key_of("work")));
            terminal.press("\r");
        }
        terminal.until(OFFER);
        terminal.press("\r");
        terminal.end().ok();
        let config = format!("[profile.work]\nbase_url = \"{}\"\n", bench.simulator.base_url());
        assert_eq!(file(place, "config.toml"), config);
        assert_eq!(file(place, "keys/work.key"), format!("{}\n", bench.simulator.api_key()));
    }
    assert!(!place.config("keys/default.key").exists());
    assert_eq!(bench.simulator.counts().accepted, 0);
}

#[test]
fn ctrl_c_says_what_is_stored() {
    let bench = Bench::new();
    let place = &bench.place;
    let mut terminal = Terminal::start(setup(place, &[]));
    terminal.until(URL);
    terminal.interrupt();
    terminal.end().fails(130);
    assert!(terminal.text().contains("advice: nothing was changed"), "{}", terminal.text());
    let mut terminal = Terminal::start(setup(place, &[]));
    terminal.until(URL);
    terminal.press(&format!("{}\r", bench.simulator.base_url()));
    terminal.until(&key_of("default"));
    terminal.interrupt();
    terminal.end().fails(130);
    assert!(terminal.text().contains("advice: nothing was changed") && terminal.echoes());
    assert!(!place.config("config.toml").exists() && !place.config("keys").exists());
    let mut terminal = Terminal::start(setup(place, &[]));
    answer(&mut terminal, &bench, "default");
    terminal.until(OFFER);
    terminal.interrupt();
    terminal.end().fails(130);
    let advice = "advice: the settings are stored, and nothing was charged";
    assert!(terminal.text().contains(advice), "{}", terminal.text());
    assert!(place.config("config.toml").exists() && place.config("keys/default.key").exists());
    assert_eq!(bench.simulator.counts().accepted, 0);
}

#[test]
fn an_interrupted_first_picture_can_be_resumed() {
    let bench = Bench::ready_after(AGES);
    let place = &bench.place;
    place.configure("size = \"64x64\"");
    let mut terminal = Terminal::start(setup(place, &["--profile", "work"]));
    answer(&mut terminal, &bench, "work");
    terminal.until(OFFER);
    terminal.press("yes\r");
    terminal.until("Pending");
    terminal.interrupt();
    terminal.end().fails(130);
    assert!(terminal.text().contains("task save @1 --profile work"), "{}", terminal.text());
    bench.simulator.clock().advance(AGES);
    place.run("task save @1 --profile work").ok();
    assert_eq!((bench.simulator.counts().accepted, place.files().len()), (1, 1));
}

#[test]
fn a_key_that_can_not_be_stored_does_not_hide_what_is_stored() {
    let bench = Bench::new();
    fs::write(bench.place.config("keys"), "").unwrap();
    let mut terminal = Terminal::start(setup(&bench.place, &[]));
    answer(&mut terminal, &bench, "default");
    terminal.end().fails(1);
    let text = terminal.text().replace('\n', " ");
    assert!(text.contains("could not store the API key"), "{text}");
    assert!(text.contains("run `kiln setup` again"), "{text}");
    assert!(file(&bench.place, "config.toml").starts_with("base_url = "));
}

#[test]
fn a_wrong_key_is_found_before_a_picture_is_offered() {
    let bench = Bench::new();
    let mut terminal = Terminal::start(setup(&bench.place, &[]));
    terminal.until(URL);
    terminal.press(&format!("{}\r", bench.simulator.base_url()));
    terminal.until(&key_of("default"));
    terminal.press("sk-wrong\r");
    terminal.end().fails(3);
    let text = terminal.text();
    assert!(text.contains("problem  key"), "{text}");
    assert!(!text.contains(OFFER) && !text.contains("the task continues"), "{text}");
}

#[test]
fn without_a_terminal_it_names_the_commands_for_scripts() {
    let place = Place::new();
    for outcome in [
        place.run("setup"),
        Terminal::start_with(
            setup(&place, &[]),
            Setup { piped: Piped::Stderr, ..Setup::default() },
        )
        .end(),
    ] {
        let error = outcome.fails(2).stderr;
        assert!(error.contains("could not ask for the settings"), "{error}");
        assert!(error.contains("kiln config set base_url URL"), "{error}");
        assert!(error.contains("kiln config login"), "{error}");
    }
}
