//! Shared options: a command has those that it uses, and refuses the others at once.

use std::{collections::BTreeSet, fs, thread};

use serde_json::{Value, json};

use crate::{
    bench::{Outcome, Place, png},
    help,
    server::{Exchange, Server},
};

/// What a command needs to have happened.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    /// A task was submitted, which is `@1`.
    Submitted,
    /// The response to a submission was lost.
    Lost,
    /// The job `a-job` was added to a ledger.
    Added,
}

const PROMPT: &str = "a fox in the snow";

/// A valid command line of every command that does not print its help, with what it needs.
const COMMANDS: &[(&str, &[&str], Before)] = &[
    ("generate", &[PROMPT], Before::Nothing),
    ("edit", &[PROMPT, "cat.png"], Before::Nothing),
    ("tool inpaint", &[PROMPT, "cat.png", "--mask", "cat.png"], Before::Nothing),
    ("tool outpaint", &["cat.png", "-s", "128x128"], Before::Nothing),
    ("tool expand", &["cat.png", "--left", "64"], Before::Nothing),
    ("tool erase", &["cat.png", "--mask", "cat.png"], Before::Nothing),
    ("tool deblur", &["cat.png"], Before::Nothing),
    ("tool try-on", &["cat.png", "cat.png"], Before::Nothing),
    ("tool video", &[PROMPT], Before::Nothing),
    ("run", &["gen-2-flex", "--prompt", PROMPT], Before::Nothing),
    ("models", &[], Before::Nothing),
    ("history", &[], Before::Submitted),
    ("gallery", &[], Before::Nothing),
    ("resume", &[], Before::Submitted),
    ("task submit", &["gen-2-flex", "--prompt", PROMPT], Before::Nothing),
    ("task status", &["@1"], Before::Submitted),
    ("task wait", &["@1"], Before::Submitted),
    ("task save", &["@1"], Before::Submitted),
    ("task list", &[], Before::Submitted),
    ("task dismiss", &["@1"], Before::Submitted),
    ("task resolve", &["@1", "task-7"], Before::Lost),
    ("batch run", &["--prompt", PROMPT, "--output", "pictures"], Before::Nothing),
    ("batch advance", &["a-job", "--output", "pictures"], Before::Added),
    ("batch status", &[], Before::Nothing),
    ("batch report", &[], Before::Nothing),
    ("batch limits", &["--pause"], Before::Nothing),
    ("batch jobs cancel", &["a-job"], Before::Nothing),
    ("batch jobs priority", &["1", "a-job"], Before::Nothing),
    ("batch jobs retry", &["a-job"], Before::Nothing),
    ("batch resolve", &["a-job", "--not-paid"], Before::Nothing),
    ("batch reconcile", &["usage.csv"], Before::Nothing),
    ("batch adopt", &["--output", "pictures"], Before::Nothing),
    ("batch jobs forget", &["a-job"], Before::Nothing),
    ("batch jobs archive", &["--older-than", "1h"], Before::Nothing),
    ("mcp", &["--budget", "10"], Before::Nothing),
    ("show", &["@1"], Before::Submitted),
    ("spending", &[], Before::Submitted),
    ("preset", &[], Before::Nothing),
    ("preset list", &[], Before::Nothing),
    ("preset show", &["a-preset"], Before::Nothing),
    ("preset save", &["a-preset", "--from", "@1"], Before::Submitted),
    ("preset remove", &["a-preset"], Before::Nothing),
    ("again", &["@1"], Before::Submitted),
    ("setup", &[], Before::Nothing),
    ("config", &[], Before::Nothing),
    ("config list", &[], Before::Nothing),
    ("config get", &["size"], Before::Nothing),
    ("config set", &["size", "64x64"], Before::Nothing),
    ("config unset", &["size"], Before::Nothing),
    ("config edit", &[], Before::Nothing),
    ("config path", &[], Before::Nothing),
    ("config login", &[], Before::Nothing),
    ("config logout", &[], Before::Nothing),
    ("config profiles", &[], Before::Nothing),
    ("config completions", &["bash"], Before::Nothing),
    ("config man", &["pages"], Before::Nothing),
    ("doctor", &[], Before::Nothing),
    ("simulate", &[], Before::Nothing),
    ("webhook listen", &[], Before::Nothing),
    ("webhook verify", &["cat.png"], Before::Nothing),
];

/// The shared options, each with a value.
pub const OPTIONS: [&[&str]; 6] = [
    &["--simulate"],
    &["--deadline", "5s"],
    &["--allow-polling-host", "127.0.0.1"],
    &["--allow-delivery-host", "127.0.0.1"],
    &["--record", "recorded"],
    &["--no-history"],
];

#[test]
fn every_command_is_tested() {
    let tested: BTreeSet<&str> = COMMANDS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(tested, help::commands().collect());
}

#[test]
fn an_option_that_a_command_does_not_list_is_refused() {
    let place = prepared();
    let mut is_first = false;
    for (name, arguments, _) in COMMANDS {
        let listed = listed(name);
        for option in OPTIONS.into_iter().filter(|option| !listed.contains(&option[0])) {
            // Each command gets some of them before its words, and some after.
            is_first = !is_first;
            let words: Vec<&str> = name.split(' ').chain(arguments.iter().copied()).collect();
            let words =
                if is_first { [option, &words].concat() } else { [&words[..], option].concat() };
            let outcome = place.run(&words).fails(2);
            let problem = format!("unexpected argument '{}' found", option[0]);
            assert!(outcome.stderr.contains(&problem), "{words:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("does not use it"), "{words:?}");
            assert_eq!(place.files(), ["cat.png"], "{words:?}");
        }
    }
}

#[test]
fn an_option_that_a_command_lists_is_used() {
    // Each command waits for its tasks, so they run at the same time.
    thread::scope(|scope| {
        for (name, arguments, before) in COMMANDS {
            scope.spawn(move || {
                let words: Vec<&str> = name.split(' ').chain(arguments.iter().copied()).collect();
                let listed = listed(name);
                for option in OPTIONS.into_iter().filter(|option| listed.contains(&option[0])) {
                    check(&words, &listed, option, *before);
                }
            });
        }
    });
}

/// The shared options that the help of a command lists.
fn listed(name: &str) -> Vec<&'static str> {
    let help = if ["run", "task submit"].contains(&name) {
        Place::new().run(&format!("{name} gen-2-flex --help")).ok().text()
    } else {
        help::HELPS.iter().find(|(listed, _)| listed == name).unwrap().1.clone()
    };
    let is_listed =
        |option: &&str| help.lines().any(|line| line.split_whitespace().next() == Some(option));
    OPTIONS.map(|option| option[0]).into_iter().filter(is_listed).collect()
}

fn check(words: &[&str], listed: &[&str], option: &[&str], before: Before) {
    let with = [words, option].concat();
    let hosts = [["--allow-polling-host", "127.0.0.1"], ["--allow-delivery-host", "127.0.0.1"]];
    let hosts: Vec<[&str; 2]> =
        hosts.into_iter().filter(|host| listed.contains(&host[0])).collect();
    match option[0] {
        "--simulate" => {
            prepared().run(&with).ok();
        }
        "--deadline" => {
            // `submit` does not wait for its task, and the others do not submit.
            let is_silent = ["submit", "status"].iter().any(|name| words.get(1) == Some(name));
            let code = if words.get(1) == Some(&"submit") { 8 } else { 6 };
            let service = Service { is_silent, is_ready: false, ..Service::default() };
            service.run(&with, before).0.fails(code);
        }
        "--record" => {
            let (outcome, place) = Service::default().run(&with, before);
            outcome.ok();
            assert!(fs::read_dir(place.path("recorded")).unwrap().count() > 0, "{words:?}");
        }
        "--no-history" => {
            let (outcome, place) = Service::default().run(&with, before);
            outcome.ok();
            assert_eq!(place.run("history").ok().text(), "", "{words:?}");
        }
        host => {
            let service = Service { is_foreign: true, ..Service::default() };
            let all = [words, &hosts.concat()].concat();
            service.run(&all, before).0.ok();
            let others = hosts.iter().filter(|other| other[0] != host).copied().collect::<Vec<_>>();
            let outcome = service.run(&[words, &others.concat()].concat(), before).0;
            assert_ne!(outcome.code, 0, "{words:?} needs no {host}");
            assert!(outcome.stderr.contains(host), "{words:?}: {}", outcome.stderr);
        }
    }
}

/// A place with an image.
fn prepared() -> Place {
    let place = Place::new();
    place.write("cat.png", png(64, 64));
    place
}

/// A service on this machine.
#[derive(Clone, Copy)]
struct Service {
    /// Whether it never responds to the command.
    is_silent: bool,
    is_ready: bool,
    /// Whether the host of its polling and delivery URLs is not that of the base URL.
    is_foreign: bool,
}

impl Default for Service {
    fn default() -> Self {
        Self { is_silent: false, is_ready: true, is_foreign: false }
    }
}

impl Service {
    /// Runs a command against the service, after what it needs.
    fn run(self, words: &[&str], before: Before) -> (Outcome, Place) {
        let (place, server) = (prepared(), Server::new());
        let url = server.url();
        let base = if self.is_foreign { url.replace("127.0.0.1", "0.0.0.0") } else { url.clone() };
        let kiln = |words: &[&str]| {
            let mut command = place.kiln(words);
            server.point(&mut command);
            command.env("IMAGEKILN_BASE_URL", &base).env("IMAGEKILN_ALLOW_HTTP", "1");
            command
        };
        let submission = ["task", "submit", "gen-2-flex", "--prompt", PROMPT];
        let submits = matches!(before, Before::Submitted | Before::Lost);
        let first = submits.then(|| kiln(&submission));
        if before == Before::Added {
            place.write("jobs.jsonl", json!({ "name": "a-job", "prompt": PROMPT }).to_string());
            place.run("batch run jobs.jsonl -o pictures --add-only").ok();
        }
        let mut command = kiln(words);
        thread::spawn(move || {
            let mut is_lost = before == Before::Lost;
            let mut held = Vec::new();
            loop {
                let exchange = server.next();
                let is_first = exchange.line.starts_with("POST") && submits;
                if std::mem::take(&mut is_lost) {
                    exchange.hang_up();
                } else if self.is_silent && !is_first {
                    held.push(exchange);
                } else {
                    self.respond(exchange, &url);
                }
            }
        });
        if let Some(mut first) = first {
            first.output().unwrap();
        }
        (Outcome::of(command.output().unwrap()), place)
    }

    fn respond(self, exchange: Exchange, url: &str) {
        let line = exchange.line.clone();
        if line.starts_with("POST") {
            let polling_url = format!("{url}/v1/get_result?id=task-1");
            exchange.respond(200, &json!({ "id": "task-1", "polling_url": polling_url }));
        } else if line.contains("/picture") {
            exchange.send(&png(64, 64));
        } else {
            let (status, result) = if self.is_ready {
                ("Ready", json!({ "sample": format!("{url}/picture") }))
            } else {
                ("Pending", Value::Null)
            };
            let id = line.split(['=', ' ']).nth(2).unwrap_or_default().to_owned();
            exchange.respond(200, &json!({ "id": id, "status": status, "result": result }));
        }
    }
}
