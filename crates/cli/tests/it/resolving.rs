//! `kiln task resolve`: a person finds the task of a submission whose response was lost.

use serde_json::json;
use tokio::runtime::Runtime;

use crate::{
    bench::{Bench, fox, kind_of},
    history::history,
};
use imagekiln::journal::{Directory, Journal as _, Step};

/// A task that is ready at once.
fn submit(bench: &Bench) {
    bench.run("task submit gen-2-pro --prompt 'a fox'").ok();
}

/// The arguments of a command in backticks.
fn advised<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let at = text.find(&format!("`{start}")).unwrap_or_else(|| panic!("{start}: {text}"));
    text[at + 1..].split('`').next().unwrap().split(' ').skip(1).collect()
}

/// A submission whose response was lost, and the id of its task, which a person finds.
fn lost(bench: &Bench, words: &[&str]) -> String {
    bench.simulator.faults().add("reply-lost@submission:1x").unwrap();
    bench.run(words).fails(8);
    bench.last_task().id
}

#[test]
fn a_resume_with_only_unknown_submissions_does_not_advise_itself() {
    let bench = Bench::new();
    lost(&bench, &fox(&["-o", "fox.png"]));
    let said = bench.run("resume").fails(8).stderr;
    let (_, last) = said.split_once("error: 1 of 1 submissions have no picture\n").unwrap();
    assert!(!last.contains("kiln resume"), "{last}");
    bench.run(&advised(last, "kiln task dismiss")).ok();
    assert_eq!(bench.run("resume").ok().stderr, "nothing is unfinished\n");
}

#[test]
fn a_task_that_a_person_found_is_saved() {
    let bench = Bench::new();
    bench.simulator.faults().add("reply-lost@submission:1x").unwrap();
    let said = bench.run(&fox(&["-o", "fox.png"])).fails(8).stderr;
    let id = bench.simulator.tasks()[0].id.clone();
    let resolve = advised(&said, "kiln task resolve");
    let resolve: Vec<&str> =
        resolve.into_iter().map(|word| if word == "ID" { &id } else { word }).collect();
    let outcome = bench.run(&resolve).ok().text();
    assert_eq!(outcome, format!("@1: task {id} is Ready; `kiln task save @1` saves its picture\n"));
    assert_eq!(bench.run("resume").ok().text(), "fox.png\n");
    kind_of(&bench.place.read("fox.png"));
    let line = &history(&bench)[0];
    assert_eq!((&line["id"], &line["state"]), (&json!(id), &json!("saved")));
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn a_found_task_of_a_regional_model_is_polled_in_its_region() {
    let bench = Bench::new();
    let words =
        ["run", "gen-pro-1.1-ultra-finetuned", "--finetune-id", "fox-style", "-o", "fox.png"];
    let id = lost(&bench, &words);
    let json = bench.run(&["task", "resolve", "@last", &id, "--json"]).ok().json();
    assert_eq!(json, json!({ "number": 1, "id": id, "status": "Ready" }));
    bench.run("task save @1").ok();
    assert_eq!(bench.place.files(), ["fox.png"]);
}

#[test]
fn tasks_of_two_regions_may_have_the_same_id() {
    let bench = Bench::new();
    let id = lost(&bench, &fox(&["-o", "fox.png"]));
    let journal = Directory::open(bench.place.history()).unwrap();
    let intent = json!({ "id": "2", "operation": "gen-pro-1.1-ultra-finetuned", "at": 1 });
    let intent = serde_json::from_value(intent).unwrap();
    let task = json!({ "id": id, "polling_url": "http://127.0.0.1:9/", "region": "regional" });
    let accepted = Step::Accepted(serde_json::from_value(task).unwrap());
    Runtime::new().unwrap().block_on(async {
        journal.intend(&intent).await.unwrap();
        journal.advance("2", &accepted).await.unwrap();
    });
    bench.run(&["task", "resolve", "@1", &id]).ok();
    bench.run("task save @1").ok();
    kind_of(&bench.place.read("fox.png"));
}

#[test]
fn an_id_that_is_not_that_of_the_task_is_refused() {
    let bench = Bench::new();
    submit(&bench);
    let other = bench.simulator.tasks()[0].id.clone();
    let id = lost(&bench, &fox(&["-o", "fox.png"]));
    for (words, code, problem) in [
        (["@2", "unheard-of"], 4, "the service does not know the task unheard-of"),
        (["@2", &other], 2, "submission @1 has the task"),
        (["@2", " "], 2, "the id is empty"),
        (["@1", &id], 2, "submission @1 has a task"),
        (["@3", &id], 2, "the history has no submission @3"),
        (["fox", &id], 2, "the history has no task fox"),
    ] {
        bench.run(&[&["task", "resolve"], &words[..]].concat()).fails(code).says(problem);
    }
    bench.run(&["--simulate", "task", "resolve", "@2", &id]).fails(2);
    let states: Vec<_> = history(&bench).iter().map(|line| line["state"].clone()).collect();
    assert_eq!(states, ["unknown", "unfinished"]);

    // Without a poll that succeeds, nothing is recorded.
    let key = [("IMAGEKILN_API_KEY", "A-WRONG-KEY")];
    bench.run_with(&key, &["task", "resolve", "@2", &id]).fails(3);
    assert_eq!(history(&bench)[0]["id"], json!(null));
    bench.run("task dismiss @2").ok();
    bench
        .run(&["task", "resolve", "@2", &id])
        .fails(2)
        .says("submission @2 is finished: dismissed");
}

/// The response has an id, which may be that of the task.
#[test]
fn an_id_in_a_failed_response_is_offered() {
    let body = json!({ "id": "a1", "detail": "internal error" });
    let failed = crate::errors::scripted(&fox(&[]), |server| server.next().respond(500, &body));
    let said = failed.fails(8).stderr;
    assert_eq!(advised(&said, "kiln task resolve"), ["task", "resolve", "@1", "a1"], "{said}");
}

/// A task that ended without a picture is recorded with its end.
#[test]
fn a_found_task_that_failed_is_finished() {
    let bench = Bench::new();
    let words = ["generate", "[[error]]", "--width", "64", "--height", "64"];
    let id = lost(&bench, &words);
    bench.run(&["task", "resolve", "@1", &id]).ok();
    assert_eq!(history(&bench)[0]["state"], "failed");
    assert_eq!(bench.run("resume").ok().stderr, "nothing is unfinished\n");
}

/// The numbers of the submissions in a state, newest first.
fn numbers(bench: &Bench, state: &str) -> Vec<u64> {
    let listed = history(bench);
    let listed = listed.iter().filter(|line| line["state"] == state);
    listed.map(|line| line["number"].as_u64().unwrap()).collect()
}

/// An accepted submission, and four whose responses were lost: those to gen-2-pro cost 4 credits.
fn with_unknown(bench: &Bench) {
    submit(bench);
    for model in ["gen-2-pro", "gen-2-flex", "gen-2-pro", "gen-2-pro"] {
        lost(bench, &["run", model, "--prompt", "a fox", "-o", "fox.png"]);
    }
}

#[test]
fn unknown_submissions_are_listed_with_an_expected_price() {
    let bench = Bench::new();
    with_unknown(&bench);
    let listed = bench.run("task list").ok().text();
    let line = |number: &str| listed.lines().find(|line| line.starts_with(number)).unwrap();
    for (number, model, price) in
        [("@2", "gen-2-pro", "expected 4"), ("@3", "gen-2-flex", "unknown")]
    {
        let words: Vec<_> = line(number).split("  ").map(str::trim).collect();
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let [_, time, its_model, state, credits, _, prompt] = words[..] else {
            panic!("{words:?}")
        };
        assert_eq!((its_model, state, credits, prompt), (model, "unknown", price, "a fox"));
        assert_eq!(time.len(), "2026-11-20T08:15:09Z".len(), "{time}");
    }
    let listed = history(&bench);
    let costs: Vec<_> = listed.iter().map(|line| line["expected_cost"].clone()).collect();
    let [known, none] = [json!(4.0), json!(null)];
    assert_eq!(costs, [known.clone(), known.clone(), none.clone(), known, none]);
}

#[test]
fn unknown_submissions_are_dismissed_together() {
    let bench = Bench::new();
    with_unknown(&bench);
    let counted = bench.run("task dismiss --all --dry-run").ok().text();
    let expected = "4 submissions would be dismissed; expected price: 12.00 credits, and 1 \
                    submission of unknown price\n";
    assert_eq!(counted, expected);
    for (words, expected) in [
        (&["--sent-before", "1h"][..], json!([])),
        (&["--sent-after", "1h", "--model", "gen_2_flex"], json!([3])),
        (&["@2", "@3", "@2", "--model", "gen-2-pro"], json!([2])),
        (&["@1"], json!([1])),
    ] {
        let words = [&["task", "dismiss", "--dry-run", "--json"], words].concat();
        assert_eq!(bench.run(&words).ok().json()["numbers"], expected, "{words:?}");
    }
    assert_eq!(numbers(&bench, "unknown"), [5, 4, 3, 2], "a dry run changes nothing");
    for words in [
        &["task", "dismiss"][..],
        &["task", "dismiss", "--dry-run"],
        &["task", "dismiss", "--all", "@2"],
        &["task", "dismiss", "--all", "--sent-after", "1h"],
        &["task", "dismiss", "@2", "@9"],
    ] {
        bench.run(words).fails(2);
    }
    let words = ["task", "dismiss", "--from", "-", "@5"];
    bench.run_with_stdin(&words, b"@2\n\n @2 \n@9\n").fails(2);
    assert_eq!(numbers(&bench, "dismissed"), [0; 0], "all of them or none");
    let done = bench.run_with_stdin(&words, b"@2\n\n @2 \n").ok().text();
    assert_eq!(done, "2 submissions dismissed; expected price: 8.00 credits\n");
    assert_eq!(numbers(&bench, "dismissed"), [5, 2]);
    let done = bench.run("task dismiss --all --json").ok().json();
    let expected = json!({
        "event": "dismissed", "dry_run": false, "submissions": 2, "cost": 4.0, "without_price": 1,
        "numbers": [4, 3],
    });
    assert_eq!(done, expected);
    assert_eq!((numbers(&bench, "unknown"), numbers(&bench, "unfinished")), (vec![], vec![1]));
    let none = bench.run("task dismiss --all").ok().text();
    assert_eq!(none, "0 submissions dismissed; expected price: 0.00 credits\n");
}
