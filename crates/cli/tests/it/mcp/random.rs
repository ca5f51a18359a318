//! A client like a model without memory: it repeats and cancels calls, and its servers are killed.

use std::{collections::BTreeMap, fs};

use fastrand::Rng;
use serde_json::json;

use super::{agent::Agent, fox_with};
use crate::{bench::Bench, history::history};

const SESSIONS: u64 = 4;
const STEPS: usize = 25;

/// The pictures that the client wants, by their seeds.
const SEEDS: u64 = 6;

const SERVER: [&str; 5] = ["mcp", "--budget-per-day", "100", "--answer-within", "0.3"];

#[test]
fn random_sessions_pay_once_and_lose_nothing() {
    for session in 0..SESSIONS {
        let bench = Bench::new();
        play(&bench, &mut Rng::with_seed(session));
        let mut agent = Agent::start(&mut bench.kiln(&SERVER));
        for seed in 1..=SEEDS {
            while agent.call("make", fox_with(json!({ "seed": seed })))["state"] == "in_progress" {}
        }
        agent.end();
        let mut paid: BTreeMap<String, u32> = BTreeMap::new();
        for task in bench.simulator.tasks() {
            *paid.entry(task.request["seed"].to_string()).or_default() += 1;
        }
        assert!(paid.values().all(|count| *count == 1), "session {session}: {paid:?}");
        let history = history(&bench);
        assert_eq!(history.len() as u64, SEEDS, "session {session}");
        for entry in history {
            match entry["state"].as_str().unwrap() {
                "saved" => assert!(fs::exists(entry["path"].as_str().unwrap()).unwrap()),
                state => assert_eq!(state, "unknown", "session {session}: {entry}"),
            }
        }
    }
}

/// Two servers, and calls of which the client forgets what became.
fn play(bench: &Bench, random: &mut Rng) {
    let start = || Agent::start(&mut bench.kiln(&SERVER));
    let mut agents = [start(), start()];
    for _ in 0..STEPS {
        let agent = &mut agents[random.usize(..2)];
        let fox = fox_with(json!({ "seed": random.u64(1..=SEEDS) }));
        match random.u8(..10) {
            0 => {
                bench.simulator.faults().add("reply-lost@submission:once").unwrap();
                agent.call("make", fox);
            }
            1 => {
                bench.simulator.faults().add("html-502@poll:2x").unwrap();
                agent.call("make", fox);
            }
            2 | 3 => {
                let call = agent.send_call("make", fox);
                agent.notify("notifications/cancelled", json!({ "requestId": call }));
            }
            4 | 5 => {
                agent.send_call("make", fox);
                std::mem::replace(agent, start()).kill();
            }
            6 => drop(agent.call("look", json!({}))),
            _ => drop(agent.call("make", fox)),
        }
    }
    agents.into_iter().for_each(Agent::kill);
}
