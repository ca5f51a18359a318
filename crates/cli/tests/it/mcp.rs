//! `kiln mcp`: an assistant that repeats, cancels and forgets its calls pays once.

mod agent;
mod asking;
mod listening;
mod random;
mod shown;

use std::{fs, os::unix::fs::symlink, thread, time::Duration};

use serde_json::{Value, json};

use self::agent::{Agent, preview};
use crate::{
    bench::{AGES, Bench, Outcome, Place, png},
    history::history,
    once::assert_paid,
};
use imagekiln_simulator::Config;

const BUDGET: [&str; 3] = ["mcp", "--budget", "100"];

fn fox() -> Value {
    json!({ "prompt": "a red fox", "fields": { "width": 64, "height": 64 } })
}

/// The same, with more arguments.
fn fox_with(more: Value) -> Value {
    let mut fox = fox();
    fox.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fox
}

fn start(bench: &Bench, more: &[&str]) -> Agent {
    Agent::start(&mut bench.kiln(&[&BUDGET, more].concat()))
}

/// A bench whose tasks are ready when its clock is advanced.
fn patient() -> Bench {
    let bench = Bench::with(Config { ready_after: AGES, ..Config::default() });
    bench.simulator.clock().set_speed(0.0);
    bench
}

#[test]
fn every_tool_works() {
    let bench = Bench::new();
    let mut agent = start(&bench, &[]);
    let made = agent.call("make", fox());
    assert_eq!((&made["state"], &made["number"]), (&json!("saved"), &json!("@1")));
    assert_eq!((&made["cost"], &made["size"]), (&json!(3.0), &json!("64x64")));
    assert_eq!(made["budget"]["left_this_start"], 97.0);
    assert!(fs::exists(made["path"].as_str().unwrap()).unwrap());
    assert_eq!(preview(&made), (64, 64));
    let is_progress = |message: &Value| message["params"]["progressToken"] == "a-token";
    assert!(agent.messages().iter().any(is_progress));
    let large = json!({ "prompt": "noise", "fields": { "width": 1024, "height": 768 } });
    assert_eq!(preview(&agent.call("make", large)), (512, 384));
    let edited = json!({ "prompt": "in the snow", "images": ["@1"], "file": "snow/fox.png" });
    let edited = agent.call("edit", edited);
    assert!(edited["path"].as_str().unwrap().ends_with("snow/fox.png"), "{edited}");
    bench.place.write("cat.png", png(64, 64));
    let deblur = json!({ "model": "gen-tools/deblur-v1", "fields": { "image": "cat.png" } });
    assert_eq!(agent.call("run", deblur)["state"], "saved");
    let models = agent.call("models", json!({}));
    assert!(models["models"].as_array().unwrap().iter().any(|model| model["name"] == "gen-2-flex"));
    let model = agent.call("models", json!({ "model": "gen-2-flex" }));
    assert!(model["fields"]["guidance"].as_str().unwrap().contains("1.5 to 10"), "{model}");
    assert!(model["fields"].get("webhook_secret").is_none());
    assert_eq!(agent.call("look", json!({ "number": "@3" }))["path"], edited["path"]);
    assert_eq!(agent.call("look", json!({}))["unfinished"], json!([]));
    let found = agent.call("pictures", json!({ "search": "FOX red" }));
    assert_eq!(found["pictures"].as_array().unwrap().len(), 1, "{found}");
    let spending = agent.call("spending", json!({}));
    assert_eq!(spending["this_start"]["spent"], spending["today"]["spent"]);
    assert!(agent.call("dance", json!({}))["message"].as_str().unwrap().contains("no tool"));
    assert_eq!(agent.end(), 0);
    assert_paid(&bench, 4);
}

/// A model that is told that no picture comes would pay for another one.
#[test]
fn a_picture_whose_file_is_gone_is_fetched_again() {
    let bench = Bench::new();
    let mut agent = start(&bench, &[]);
    let path = |result: &Value| result["path"].as_str().unwrap().to_owned();
    let first = path(&agent.call("make", fox()));
    let saved = fs::read(&first).unwrap();
    let calls = [("make", fox()), ("look", json!({ "number": "@1" }))];
    for (tool, arguments) in calls.clone() {
        fs::remove_file(&first).unwrap();
        let again = agent.call(tool, arguments);
        assert_eq!((&again["state"], path(&again)), (&json!("saved"), first.clone()), "{again}");
        assert_eq!(fs::read(&first).unwrap(), saved);
    }
    // A person may have painted over it.
    fs::write(&first, png(8, 8)).unwrap();
    let again = agent.call("make", fox());
    assert_eq!((&again["next"], fs::read(path(&again)).unwrap()), (&json!(null), saved));
    assert_eq!(fs::read(&first).unwrap(), png(8, 8));
    // The service delivers a picture for ten minutes.
    bench.simulator.clock().advance(AGES);
    fs::write(path(&again), png(8, 8)).unwrap();
    let changed = agent.call("make", fox());
    assert!(changed["next"].as_str().unwrap().contains("has changed"), "{changed}");
    fs::remove_file(path(&again)).unwrap();
    for (tool, arguments) in calls {
        let gone = agent.call(tool, arguments);
        assert_eq!((&gone["state"], &gone["isError"]), (&json!("missing"), &json!(false)));
        let next = gone["next"].as_str().unwrap();
        assert!(next.contains("is paid") && !next.contains("attempt"), "{next}");
        assert!(gone["problem"].is_string(), "{gone}");
    }
    assert_paid(&bench, 1);
}

/// An account replaces its keys, so the picture is still the same.
#[test]
fn another_api_key_is_reported() {
    let bench = Bench::new();
    let mine = start(&bench, &[]).call("make", fox());
    assert!(mine["warning"].is_null(), "{mine}");
    let mut other = bench.kiln(&BUDGET);
    let mut agent = Agent::start(other.env("IMAGEKILN_API_KEY", "sk-of-another-account"));
    let theirs = agent.call("make", fox());
    assert_eq!(theirs["number"], mine["number"]);
    assert!(theirs["warning"].as_str().unwrap().contains("another API key"), "{theirs}");
    assert_paid(&bench, 1);
}

#[test]
fn definitions_are_small() {
    let mut agent = Agent::start(&mut Place::new().kiln("mcp --simulate"));
    let tools = agent.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    assert_eq!(tools.len(), 7);
    // A token of English and JSON has more than three characters.
    let tokens = json!(tools).to_string().len() / 3;
    assert!(tokens <= 2500, "{tokens}");
    // The simulator needs no key and no budget, and is forgotten with the server.
    assert_eq!(agent.call("make", fox())["state"], "saved");
    assert_eq!(agent.end(), 0);
}

#[test]
fn the_same_call_is_the_same_picture() {
    let bench = Bench::new();
    let mut agent = start(&bench, &[]);
    let made = agent.call("make", fox());
    let reordered = json!({ "fields": { "height": 64.0, "width": 64 }, "prompt": "a red fox" });
    let again = agent.call("make", reordered);
    assert_eq!([&again["path"], &again["paid_now"]], [&made["path"], &json!(false)]);
    // Another name is not another picture, in a new session either.
    agent.kill();
    let mut agent = start(&bench, &[]);
    let again = agent.call("make", fox_with(json!({ "file": "other.png" })));
    assert_eq!(again["path"], made["path"]);
    assert_paid(&bench, 1);
    let skipped = agent.call("make", fox_with(json!({ "attempt": 3 })));
    assert!(skipped["message"].as_str().unwrap().contains("attempt 2 of this call was never"));
    for _ in 0..2 {
        let second = agent.call("make", fox_with(json!({ "attempt": 2 })));
        assert_eq!(second["state"], "saved");
        assert_ne!(second["seed"], made["seed"]);
    }
    assert_paid(&bench, 2);
    assert_eq!(agent.call("make", fox_with(json!({ "seed": 7 })))["seed"], 7);
    assert_paid(&bench, 3);
    agent.end();
    // What ended longer ago is a new call.
    let mut agent = start(&bench, &["--same-for", "0"]);
    assert_eq!(agent.call("make", fox())["paid_now"], true);
    assert_paid(&bench, 4);
}

#[test]
fn images_are_compared_by_content() {
    let bench = Bench::new();
    let mut agent = start(&bench, &[]);
    bench.place.write("cat.png", png(64, 64));
    bench.place.write("copy.png", png(64, 64));
    let edit = |image: &str| json!({ "prompt": "in the snow", "images": [image] });
    let first = agent.call("edit", edit("cat.png"));
    assert_eq!(agent.call("edit", edit("copy.png"))["number"], first["number"]);
    assert_paid(&bench, 1);
    bench.place.write("cat.png", png(96, 64));
    assert_ne!(agent.call("edit", edit("cat.png"))["number"], first["number"]);
    assert_paid(&bench, 2);
}

/// A call returns in time, and its picture is found after the server was killed.
#[test]
fn a_killed_server_leaves_its_picture_to_the_next_one() {
    let bench = patient();
    let quick = ["--answer-within", "0.1"];
    let mut agent = start(&bench, &quick);
    let mut made = agent.call("make", fox());
    while made["number"].is_null() {
        made = agent.call("make", fox());
    }
    assert_eq!([&made["state"], &made["number"]], [&json!("in_progress"), &json!("@1")]);
    let refused = agent.call("make", fox_with(json!({ "attempt": 2 })));
    assert!(
        refused["message"].as_str().unwrap().contains("attempt 1 of this call is not finished")
    );
    assert_eq!(agent.call("look", json!({}))["unfinished"][0]["number"], "@1");
    agent.kill();
    // One that is asked to end leaves it, too.
    assert_eq!(start(&bench, &quick).terminate(), 0);
    let mut agent = start(&bench, &[]);
    bench.simulator.clock().advance(AGES);
    let found = agent.call("make", fox());
    assert_eq!([&found["state"], &found["paid_now"]], [&json!("saved"), &json!(false)]);
    assert_eq!(agent.call("look", json!({ "number": 1 }))["path"], found["path"]);
    assert_eq!(bench.place.files().len(), 1);
    assert_paid(&bench, 1);
}

/// A client that cancels its call or leaves gets its picture later.
#[test]
fn a_cancelled_call_goes_on() {
    let bench = patient();
    let mut agent = start(&bench, &[]);
    let call = agent.send_call("make", fox());
    while history(&bench).first().is_none_or(|entry| entry["id"].is_null()) {
        thread::yield_now();
    }
    agent.notify("notifications/cancelled", json!({ "requestId": call }));
    bench.simulator.clock().advance(AGES);
    assert_eq!(agent.call("look", json!({ "number": "@1" }))["state"], "saved");
    let second = fox_with(json!({ "seed": 2 }));
    agent.send_call("make", second);
    while history(&bench).len() < 2 || history(&bench)[0]["id"].is_null() {
        thread::yield_now();
    }
    bench.simulator.clock().advance(AGES);
    assert_eq!(agent.end(), 0);
    assert_eq!(history(&bench)[0]["state"], "saved");
    assert_paid(&bench, 2);
}

#[test]
fn a_lost_response_is_decided_by_a_person() {
    let bench = Bench::new();
    bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    let mut agent = start(&bench, &[]);
    for _ in 0..3 {
        let lost = agent.call("make", fox());
        assert_eq!((&lost["isError"], lost.get("paid_now")), (&json!(true), None));
        assert!(lost["next"].as_str().unwrap().contains("`kiln task dismiss @1`"), "{lost}");
    }
    let second = agent.call("make", fox_with(json!({ "attempt": 2 })));
    assert!(second["message"].as_str().unwrap().contains("is not finished"), "{second}");
    assert_eq!(agent.call("look", json!({}))["unfinished"][0]["state"], "unknown");
    assert_paid(&bench, 1);
    // The server still runs.
    bench.run("task dismiss @1").ok();
    assert_eq!(agent.call("make", fox())["state"], "dismissed");
    let second = agent.call("make", fox_with(json!({ "attempt": 2 })));
    assert_eq!(second["state"], "saved", "{second}");
    assert_paid(&bench, 2);
}

#[test]
fn as_long_as_no_price_is_known_one_picture_may_be_billed() {
    let bench = Bench::new();
    bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    let mut agent = start(&bench, &[]);
    assert_eq!(agent.call("make", fox())["isError"], true);
    let other = fox_with(json!({ "seed": 7 }));
    let refused = agent.call("make", other.clone());
    assert_eq!((&refused["error"], &refused["paid"]), (&json!("payment"), &json!("no")));
    assert!(refused["message"].as_str().unwrap().contains("an earlier one"), "{refused}");
    assert_paid(&bench, 1);
    agent.end();
    // A person has said what a picture may cost.
    let mut agent = start(&bench, &["--most-per-picture", "5"]);
    assert_eq!(agent.call("make", other)["state"], "saved");
    assert_paid(&bench, 2);
}

#[test]
fn a_failure_says_what_to_do() {
    let bench = Bench::new();
    let mut agent = start(&bench, &[]);
    let wrong = fox_with(json!({ "fields": { "width": 1 } }));
    let wrong = agent.call("make", wrong);
    assert_eq!(wrong["problems"][0]["field"], "width");
    assert!(wrong["problems"][0]["problem"].as_str().unwrap().contains("at least 64"));
    let misspelled = agent.call("make", json!({ "prompt": "a", "fields": { "widht": 64 } }));
    assert!(misspelled["message"].as_str().unwrap().contains("`width`"), "{misspelled}");
    let unknown = agent.call("make", json!({ "prompt": "a", "size": "64x64" }));
    assert!(unknown["message"].as_str().unwrap().contains("unknown field `size`"), "{unknown}");
    assert_paid(&bench, 0);
    let words = json!({ "prompt": "a fox [[content-moderated]]" });
    for _ in 0..2 {
        let moderated = agent.call("make", words.clone());
        assert_eq!(
            (&moderated["isError"], &moderated["state"]),
            (&json!(true), &json!("moderated"))
        );
        assert!(moderated["next"].as_str().unwrap().contains("costs again"), "{moderated}");
    }
    assert_paid(&bench, 1);
}

#[test]
fn a_budget_is_kept() {
    let bench = Bench::new();
    bench.run("mcp").fails(2).says("an assistant needs a budget");
    let seeds = |seed: u64| fox_with(json!({ "seed": seed }));
    let mut agent = Agent::start(&mut bench.kiln("mcp --budget 7"));
    for seed in 1..=2 {
        assert_eq!(agent.call("make", seeds(seed))["state"], "saved");
    }
    let over = agent.call("make", seeds(3));
    assert!(over["message"].as_str().unwrap().contains("1.00 are left of"), "{over}");
    assert_eq!((&over["paid"], &over["budget"]["left_this_start"]), (&json!("no"), &json!(1.0)));
    // A repeated call costs nothing.
    assert_eq!(agent.call("make", seeds(1))["state"], "saved");
    agent.end();
    // Two servers share a day, in which a lost response counts.
    let mut both = [(); 2].map(|()| Agent::start(&mut bench.kiln("mcp --budget-per-day 12")));
    bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    assert_eq!(both[0].call("make", seeds(3))["isError"], true);
    assert_eq!(both[1].call("make", seeds(4))["budget"]["left_today"], 0.0);
    for agent in &mut both {
        let over = agent.call("make", seeds(5));
        assert!(over["message"].as_str().unwrap().contains("budget of today"), "{over}");
    }
    assert_paid(&bench, 4);
    let over = Agent::start(&mut bench.kiln("mcp --budget 100 --most-per-picture 2"))
        .call("make", seeds(6));
    assert!(over["message"].as_str().unwrap().contains("one picture may cost"), "{over}");
    // The price of another size is not known, and its excess is reported.
    let mut agent = Agent::start(&mut bench.kiln("mcp --budget 2"));
    let unknown = json!({ "prompt": "a", "fields": { "width": 128, "height": 64 } });
    assert_eq!(agent.call("make", unknown)["budget"]["over_this_start"], 1.01);
    assert_paid(&bench, 5);
}

#[test]
fn only_allowed_folders_are_read_and_written() {
    let bench = Bench::new();
    let outside = Place::new();
    outside.write("secret.png", png(64, 64));
    let secret = outside.path("secret.png").to_string_lossy().into_owned();
    symlink(outside.path(""), bench.place.path("link")).unwrap();
    bench.place.write("text.txt", "not an image");
    let mut agent = start(&bench, &[]);
    for (image, problem) in [
        (secret.as_str(), "outside the allowed folders"),
        ("link/secret.png", "outside the allowed folders"),
        ("../secret.png", "outside the allowed folders"),
        ("text.txt", "is not an image file"),
        ("https://example.com/a.png", "has not allowed URLs"),
        ("data:image/png;base64,AAAA", "not data"),
        ("@9", "no submission @9"),
    ] {
        let refused = agent.call("edit", json!({ "prompt": "a", "images": [image] }));
        assert!(refused["message"].as_str().unwrap().contains(problem), "{image}: {refused}");
    }
    for file in ["link/fox.png", "../fox.png", "/fox.png", "new/../../fox.png"] {
        let refused = agent.call("make", fox_with(json!({ "file": file })));
        assert!(refused["message"].as_str().unwrap().contains("outside"), "{file}: {refused}");
    }
    let hook = json!({ "prompt": "a", "fields": { "webhook_url": "https://example.com" } });
    let refused = agent.call("make", hook);
    assert!(refused["message"].as_str().unwrap().contains("only the person"), "{refused}");
    assert_paid(&bench, 0);
    // A prompt is only text.
    for prompt in ["@text.txt", "-", "https://example.com/a.png", "text.txt"] {
        let words = json!({ "prompt": prompt, "fields": { "width": 64, "height": 64 } });
        assert_eq!(agent.call("make", words)["state"], "saved");
        assert_eq!(bench.last_request()["prompt"], prompt);
    }
    let text = format!("{:?}", agent.messages());
    assert!(!text.contains(bench.simulator.api_key()));
    Outcome::of_run(bench.kiln(&BUDGET).current_dir("/")).fails(2).says("may not use all of /");
    // What others have made elsewhere is not shown.
    let mut elsewhere = bench.kiln(&BUDGET);
    let mut agent = Agent::start(elsewhere.current_dir(outside.path("")));
    assert_eq!(agent.call("pictures", json!({}))["pictures"], json!([]));
    assert!(agent.call("look", json!({ "number": "@1" }))["message"].is_string());
}

#[test]
fn two_servers_make_one_picture() {
    // Without a price, and with one that makes the budget just enough.
    for prices in ["", "prices = [\"gen-2-pro=3\"]"] {
        let bench = Bench::ready_after(Duration::from_millis(300));
        bench.place.configure(prices);
        let options = ["--budget-per-day", "3"];
        let made: Vec<Value> = thread::scope(|scope| {
            let make = || start(&bench, &options).call("make", fox());
            let agents: Vec<_> = (0..3).map(|_| scope.spawn(make)).collect();
            agents.into_iter().map(|agent| agent.join().unwrap()).collect()
        });
        let path = &made[0]["path"];
        assert!(path.is_string() && made.iter().all(|made| made["path"] == *path), "{made:#?}");
        assert_eq!(bench.place.files().len(), 1);
        assert_paid(&bench, 1);
    }
}
