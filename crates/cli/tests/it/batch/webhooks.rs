//! `kiln batch run --listen`.

use super::runs::run;
use crate::bench::{Bench, Outcome};

/// Runs jobs with the secret of the tests. An address in `more` replaces the one here.
fn run_with_secret(bench: &Bench, prompts: &[&str], more: &[&str]) -> Outcome {
    bench.place.write("secret.txt", "a webhook secret of the tests");
    let address: &[&str] =
        if more.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
    run(bench, prompts, &[address, &["--secret-file", "secret.txt"], more].concat())
}

#[test]
fn a_webhook_finds_the_task_of_a_lost_response() {
    let bench = Bench::new();
    let outcome = run_with_secret(&bench, &["a fox [[reply-lost]]"], &["--json"]).ok();
    let events = outcome.lines().into_iter().filter(|event| event["event"] == "job");
    let states: Vec<_> = events.map(|event| event["state"].clone()).collect();
    // The webhook may arrive before the connection of the response is closed.
    assert!(["unknown", "submitted"].map(Into::into).contains(&states[0]), "{states:?}");
    assert_eq!(states[1..], ["ready", "saved"]);
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn the_callback_url_has_a_plain_path() {
    let bench = Bench::new();
    for url in ["ftp://example.com", "https://example.com/?a=b", "https://example.com/:id", "hooks"]
    {
        run_with_secret(&bench, &["a fox"], &["--callback-url", url]).fails(2).says("plain path");
    }
}

#[test]
fn a_proxy_may_remove_the_path_of_the_callback_url() {
    let bench = Bench::new();
    for (number, path) in ["", "/hooks/kiln"].into_iter().enumerate() {
        let prompt = format!("fox {number} [[reply-lost]]");
        let ledger = format!("{number}.db");
        let outcome = loop {
            let address = free_address();
            let url = format!("http://{address}{path}");
            let webhooks = ["--listen", &*address, "--callback-url", &url];
            // Both ledgers save to one directory.
            let words = [&webhooks[..], &["--ledger", &ledger, "--pay-again"]].concat();
            let outcome = run_with_secret(&bench, &[&prompt], &words);
            // Another test may have taken the port.
            if !outcome.stderr.contains("could not listen") {
                break outcome;
            }
        };
        outcome.ok();
    }
    assert_eq!(bench.simulator.counts().accepted, 2);
}

fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}
