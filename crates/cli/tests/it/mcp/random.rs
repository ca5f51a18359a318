//! A client like a model without memory: it repeats, cancels and forgets its calls, it leaves, and
//! its servers are killed. For many sessions:
//! `IMAGEKILN_MCP_SESSIONS=1000 cargo test -p imagekiln-cli --test it random_sessions`.

use std::{
    collections::BTreeMap,
    fs,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{agent::Agent, fox_with};
use crate::{bench::Bench, history::history};

/// How many sessions are played, unless a person wants more.
const SESSIONS: u64 = 4;
const AT_ONCE: usize = 2;
const STEPS: usize = 25;

/// The pictures that the client wants, by their seeds, and what each of them costs.
const SEEDS: u64 = 6;
const COST: u64 = 3;

/// Enough for all pictures, and for some of them.
const BUDGETS: [u64; 2] = [100, 13];

#[test]
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn random_sessions_pay_once_and_lose_nothing() {
    let wanted = std::env::var("IMAGEKILN_MCP_SESSIONS").map(|count| count.parse().unwrap());
    let (sessions, next) = (wanted.unwrap_or(SESSIONS), AtomicU64::new(0));
    let play_some = || {
        while let session = next.fetch_add(1, Ordering::Relaxed)
            && session < sessions
        {
            check(session);
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(play_some))));
}

fn check(session: u64) {
    let mut random = Rng::with_seed(session);
    let budget = BUDGETS[session as usize % BUDGETS.len()];
    let bench = Bench::ready_after(Duration::from_millis(random.u64(0..3) * 200));
    let day = budget.to_string();
    let most = COST.to_string();
    let mut server = vec!["mcp", "--budget-per-day", &day, "--answer-within", "0.3"];
    // Without it, nothing is submitted after a response was lost and before a price is known.
    let has_most = (session / 2).is_multiple_of(2);
    server.extend(has_most.then_some(["--most-per-picture", &most]).into_iter().flatten());
    let start = || Agent::start(&mut bench.kiln(&server));
    play(&bench, &start, &mut random);
    let mut agent = start();
    let mut refused = 0;
    for seed in 1..=SEEDS {
        let made = loop {
            let made = agent.call("make", fox_with(json!({ "seed": seed })));
            if made["state"] != "in_progress" {
                break made;
            }
        };
        refused += u64::from(made["error"] == "payment" && made["paid"] == "no");
    }
    agent.end();
    let mut paid: BTreeMap<String, u64> = BTreeMap::new();
    for task in bench.simulator.tasks() {
        *paid.entry(task.request["seed"].to_string()).or_default() += 1;
    }
    assert!(paid.values().all(|count| *count == 1), "session {session}: {paid:?}");
    assert!(paid.len() as u64 * COST <= budget, "session {session}: {paid:?}");
    let history = history(&bench);
    assert_eq!(history.len() as u64 + refused, SEEDS, "session {session}");
    assert!(refused == 0 || budget < SEEDS * COST || !has_most, "session {session}");
    for entry in &history {
        match entry["state"].as_str().unwrap() {
            "saved" => assert!(fs::exists(entry["path"].as_str().unwrap()).unwrap()),
            state => assert_eq!(state, "unknown", "session {session}: {entry}"),
        }
    }
    let is_known = |seed: &String| history.iter().any(|entry| seed_of(entry) == *seed);
    assert!(paid.keys().all(is_known), "session {session}: {paid:?}");
}

fn seed_of(entry: &Value) -> String {
    entry["seed"].to_string()
}

/// Two servers, and calls of which the client forgets what became.
fn play(bench: &Bench, start: &impl Fn() -> Agent, random: &mut Rng) {
    let mut agents = [start(), start()];
    let mut left = Vec::new();
    for _ in 0..STEPS {
        let agent = &mut agents[random.usize(..2)];
        let fox = fox_with(json!({ "seed": random.u64(1..=SEEDS) }));
        match random.u8(..11) {
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
            6 => {
                agent.send_call("make", fox);
                left.push(std::mem::replace(agent, start()).leave());
            }
            7 => drop(agent.call("look", json!({}))),
            _ => drop(agent.call("make", fox)),
        }
    }
    agents.into_iter().for_each(Agent::kill);
    for agent in left {
        assert_eq!(agent.end(), 0);
    }
}
