//! Plays "How a paid picture survives", and compares what is on disk and what is printed with the
//! page.

use std::{fs, path::Path, thread};

use imagekiln_simulator::Simulator;
use serde_json::{Deserializer, Value};

use super::{blocks::blocks, commands::is_like, read};
use crate::{
    bench::{AGES, Bench, Outcome},
    running::Running,
};

pub const PAGE: &str = "docs/story.md";

/// The blocks of the page in a language, in their order.
struct Blocks(std::vec::IntoIter<String>);

impl Blocks {
    fn of(language: &str) -> Self {
        let found = blocks(&read(PAGE)).into_iter().filter(|block| block.language == language);
        Self(found.map(|block| block.code).collect::<Vec<_>>().into_iter())
    }

    #[track_caller]
    fn next(&mut self) -> String {
        self.0.next().expect("another block")
    }

    /// The next block is what a command has printed.
    #[track_caller]
    fn is_printed(&mut self, printed: &str) {
        let shown = self.next();
        assert!(is_like(printed.trim_end(), shown.trim_end()), "{printed}");
    }

    /// The next block is a part of a line of a record.
    #[track_caller]
    fn is_in(&mut self, record: &Path) {
        let shown: Value = serde_json::from_str(&self.next()).unwrap();
        let text = fs::read_to_string(record).unwrap();
        let mut lines = Deserializer::from_str(&text).into_iter().map(Result::unwrap);
        assert!(lines.any(|line| contains(&line, &shown)), "{shown}\n{text}");
    }
}

/// Whether a value has all members of another one, in which `...` is any text.
fn contains(value: &Value, part: &Value) -> bool {
    match part {
        Value::Object(members) => {
            members.iter().all(|(name, member)| contains(&value[name.as_str()], member))
        }
        Value::String(text) if text == "..." => value.is_string(),
        part => value == part,
    }
}

/// Runs the commands of the next session.
fn run(bench: &Bench, session: &str) -> Outcome {
    bench.shell(&session.replace("$ ", ""))
}

/// The requests that the simulator got, as the page shows them.
fn log(simulator: &Simulator) -> Vec<String> {
    let of_delivery = |path: &str| path.starts_with("/delivery/");
    let line = |method: &str, path: &str, status: Option<u16>| {
        let path = if of_delivery(path) { "/delivery/..." } else { path };
        let status = status.map_or(String::new(), |status| status.to_string());
        format!("{method:<4} {path:<21} {status}").trim_end().to_owned()
    };
    let requests = simulator.requests();
    requests.iter().map(|request| line(&request.method, &request.path, request.status)).collect()
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[test]
fn story() {
    let bench = Bench::ready_after(AGES);
    let Bench { simulator, place, .. } = &bench;
    simulator.clock().set_speed(0.0);
    let [mut commands, mut printed, mut stored] = ["console", "text", "json"].map(Blocks::of);
    let open = place.history().join("open/1.json");

    simulator.faults().add("reply-lost@submission:once").unwrap();
    let generate = commands.next();
    let lost = run(&bench, &generate).fails(8);
    stored.is_in(&open);
    printed.is_printed(&lost.stderr);
    printed.is_printed(&run(&bench, &generate).fails(8).stderr);

    let task = simulator.tasks().remove(0).id;
    let resolve = commands.next().replace(" ID", &format!(" {task}"));
    printed.is_printed(&run(&bench, &resolve).ok().text());
    stored.is_in(&open);

    simulator.faults().add("slow-headers@poll=60:once").unwrap();
    let (polls, requests) = (simulator.counts().polls, simulator.requests().len());
    let killed = Running::start(&mut bench.kiln("resume"));
    wait_until(|| simulator.counts().polls > polls);
    killed.kill();
    wait_until(|| simulator.requests().len() > requests);

    for fault in ["html-502@poll:once", "early-expiry@delivery:once", "damaged@delivery:once"] {
        simulator.faults().add(fault).unwrap();
    }
    simulator.clock().set_speed(1.0);
    simulator.clock().advance(AGES);
    let resumed = run(&bench, &commands.next()).ok();
    let shown = printed.next();
    let shown: Vec<_> =
        shown.lines().map(|line| line.get(..30).unwrap_or(line).trim_end()).collect();
    assert_eq!(log(simulator), shown);
    printed.is_printed(&resumed.stderr);
    stored.is_in(&place.history().join("closed/0/1.json"));

    printed.is_printed(&run(&bench, &generate).ok().stderr);
    assert_eq!((simulator.counts().accepted, place.files()), (1, vec!["fox.png".to_owned()]));
}
