//! The history: `history`, `task list`, the names of tasks, and data that is never stored.

use std::{collections::BTreeSet, fs, thread};

use serde_json::{Value, json};

use crate::{
    bench::{AGES, Bench, Place, fox, kind_of, png, small},
    server::Server,
    tasks::SUBMIT,
};
use imagekiln_label::sha256;

/// The lines of `kiln history`, newest first.
pub fn history(bench: &Bench) -> Vec<Value> {
    bench.run("history --json --limit 1000").ok().lines()
}

/// The texts of all records.
pub fn log(bench: &Bench) -> String {
    let folders = ["open", "closed/0"].map(|name| bench.place.history().join(name));
    let files = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn the_history_says_what_became_of_each_submission() {
    let bench = Bench::new();
    let empty = bench.run("history").ok();
    assert_eq!((empty.text(), empty.stderr.as_str()), (String::new(), "the history is empty\n"));
    assert!(!bench.place.history().exists());
    bench.run(&small(&["generate", "a red fox", "-o", "fox.png"])).ok();
    bench.run(&small(&["generate", "a fox [[error]]"])).fails(4);
    bench.run(&small(&["generate", "a fox [[content-moderated]]"])).fails(5);
    bench.run(&small(&["run", "gen-2-flex", "--prompt", "x", "-o", "-"])).ok();
    bench
        .run(&small(&["task", "submit", "gen-2-pro", "--prompt", "a fox", "-o", "later.png"]))
        .ok();
    // Rejected, so nothing was paid.
    bench.simulator.faults().add("error-before@submission=503:1x").unwrap();
    let _ = bench.run(&small(&["generate", "rejected"]));

    let shown = history(&bench);
    let states: Vec<_> = shown.iter().rev().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(states[..5], ["saved", "failed", "moderated", "saved", "unfinished"]);
    let id = bench.simulator.tasks()[0].id.clone();
    let path = bench.place.path("fox.png").canonicalize().unwrap();
    let seed = &bench.simulator.tasks()[0].request["seed"];
    let first = &shown[shown.len() - 1];
    let times = ["submitted_at", "accepted_at", "ready_at"].map(|name| first[name].as_u64());
    assert!(times.is_sorted() && times[0].is_some(), "{times:?}");
    assert!(first["group"].as_str().is_some_and(|group| group.len() == 16), "{first}");
    let content = bench.place.read("fox.png");
    assert_eq!(
        *first,
        json!({
            "number": 1, "submitted_at": times[0], "accepted_at": times[1], "ready_at": times[2],
            "model": "gen-2-pro", "state": "saved", "id": id, "cost": 3.0,
            "expected_cost": null, "path": path, "output": path,
            "bytes": content.len(), "sha256": sha256(&content),
            "made_from": [], "again_of": null,
            "profile": "default", "group": first["group"], "index": 1,
            "prompt": "a red fox", "seed": seed,
            "key": null, "attempt": null, "details": null, "damaged": null,
            "fields": {
                "prompt": "a red fox", "width": 64, "height": 64, "output_format": "png",
                "seed": seed,
            },
        })
    );
    assert_eq!(bench.run("history --json --limit 2").ok().lines(), shown[..2]);

    bench.run("history --limit 0").fails(2);

    let table = bench.run("history").ok().text();
    let row = table.lines().last().unwrap();
    for cell in
        ["@1  just now  ", "  gen-2-pro  ", "  saved  ", "  3  ", "  fox.png  ", "a red fox"]
    {
        assert!(row.contains(cell), "{cell}: {table}");
    }
    assert!(table.starts_with("    TIME "), "{table}");
    let table = bench.run("history --utc").ok().text();
    assert!(table.contains("@1  20"), "{table}");
}

#[test]
fn task_list_has_only_the_unfinished() {
    let bench = Bench::ready_after(AGES);
    assert_eq!(bench.run("task list").ok().stderr, "nothing is unfinished\n");
    bench.run(&small(&["task", "submit", "gen-2-pro", "--prompt", "a fox", "-o", "fox.png"])).ok();
    bench.run(&small(&["task", "submit", "gen-2-pro", "--prompt", "a wolf"])).ok();
    let table = bench.run("task list").ok().text();
    assert!(table.contains("unfinished") && table.contains("fox.png"), "{table}");
    assert!(table.contains("`kiln resume` waits"), "{table}");
    bench.run("--simulate task dismiss @1").fails(2);
    assert_ne!(history(&bench)[1]["state"], "dismissed");
    bench.run("task dismiss @1").ok();
    let left = bench.run("task list --json").ok().lines();
    assert_eq!((left.len(), &left[0]["prompt"]), (1, &json!("a wolf")));
    assert_eq!(history(&bench)[1]["state"], "dismissed");
    bench.run("task dismiss @1").fails(2).says("submission @1 is finished: dismissed");
    bench.run("task dismiss unheard-of").fails(2);
}

#[test]
fn a_task_is_named_by_its_number_and_the_beginning_of_its_id() {
    let bench = Bench::new();
    for prompt in ["a fox", "a wolf"] {
        bench.run(&small(&["task", "submit", "gen-2-pro", "--prompt", prompt])).ok();
    }
    let ids: Vec<Value> = history(&bench).into_iter().map(|line| line["id"].clone()).collect();
    let [second, first] = [ids[0].as_str().unwrap(), ids[1].as_str().unwrap()];
    for (name, id) in
        [("@1", first), ("@2", second), ("@last", second), (&first[..6], first), (second, second)]
    {
        let status = bench.run(&["task", "status", name]).ok().text();
        assert_eq!(status, format!("{id}: Ready\n"), "{name}");
    }
    // Too short to be a beginning, so it is polled as an id.
    assert_eq!(bench.run(&["task", "status", &first[..3]]).ok().stderr, "");
    for (name, problem) in
        [("@3", "the history has no submission @3"), ("@one", "`@one` is not a submission")]
    {
        bench.run(&["task", "status", name]).fails(2).says(problem);
    }
    Bench::new().run("task status @last").fails(2).says("the history is empty");
}

#[test]
fn a_beginning_of_two_ids_is_ambiguous() {
    let (place, server) = (Place::new(), Server::new());
    for id in ["abcd-1", "abcd-2"] {
        let accept = |server: &Server| server.next().respond(200, &server.accepted(id));
        server.run(&mut place.kiln(&SUBMIT), accept).ok();
    }
    let outcome = place.run("task status abcd").fails(2);
    outcome.says("several tasks start with abcd");
    outcome.says("abcd-1 (@1)");
}

#[test]
fn task_save_remembers_the_output_of_the_submission() {
    let bench = Bench::new();
    fs::create_dir(bench.place.path("pictures")).unwrap();
    let words = ["task", "submit", "gen-2-pro", "--prompt", "a fox", "-o", "pictures/fox.png"];
    bench.run(&small(&words)).ok();
    assert_eq!(bench.last_request()["output_format"], "png");
    let saved = bench.run("task save @last").ok();
    assert!(saved.text().ends_with("pictures/fox.png\n"), "{}", saved.text());
    assert_eq!(kind_of(&bench.place.read("pictures/fox.png")), image::ImageFormat::Png);

    // By its JSON, too, and another --output replaces the first.
    let line = bench
        .run(&small(&["task", "submit", "gen-2-pro", "--prompt", "a fox", "-o", "a.jpg"]))
        .ok();
    bench.run(&["task", "save", line.text().trim(), "-o", "b.jpg"]).ok();
    let shown = &history(&bench)[0];
    assert_eq!(shown["path"], json!(bench.place.path("b.jpg").canonicalize().unwrap()));
    assert_eq!(bench.place.files(), ["b.jpg", "pictures"]);
    let outcome = bench.run(&small(&["task", "submit", "gen-2-pro", "--prompt", "x", "-o", "-"]));
    assert!(outcome.fails(2).stderr.contains("nothing was sent"));
}

#[test]
fn nothing_is_remembered_if_the_user_says_so() {
    let bench = Bench::new();
    let words = small(&["generate", "a fox"]);
    bench.run(&[&words[..], &["--no-history"]].concat()).ok();
    bench.run(&[&words[..], &["--simulate"]].concat()).ok();
    for (value, code) in [("1", 0), ("true", 0), ("perhaps", 2)] {
        bench.run_with(&[("KILN_NO_HISTORY", value)], &words).fails(code);
    }
    assert!(!bench.place.history().exists());
    assert_eq!(bench.simulator.counts().accepted, 2 + 1);
    bench.run_with(&[("KILN_NO_HISTORY", "0")], &words).ok();
    assert_eq!(history(&bench).len(), 1);
}

#[test]
fn the_history_contains_no_secret() {
    let bench = Bench::new();
    bench.place.write("image.png", png(64, 64));
    let secrets = ["--webhook-secret", "HUSH", "--webhook-url", "https://example.com/?token=HUSH"];
    let words = small(&["edit", "a long prompt", "image.png"]);
    bench.run(&[&words[..], &secrets].concat()).ok();
    let long = "a long prompt ".repeat(100);
    bench.run(&small(&["task", "submit", "gen-2-pro", "--prompt", &long])).ok();
    let log = log(&bench);
    for secret in ["HUSH", bench.simulator.api_key(), "signature", "iVBOR"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    assert!(log.contains(&long) && log.contains("image.png"), "{log}");
}

#[test]
fn commands_at_the_same_time_lose_nothing_and_never_take_the_same_name() {
    let bench = Bench::new();
    let paths: BTreeSet<String> = thread::scope(|scope| {
        let start = |_| scope.spawn(|| bench.run(&fox(&["-o", "fox.jpg"])).ok().text());
        let commands: Vec<_> = (0..8).map(start).collect();
        commands.into_iter().map(|command| command.join().unwrap().trim().to_owned()).collect()
    });
    assert_eq!(Vec::from_iter(&paths), Vec::from_iter(&bench.place.files()));
    assert_eq!(paths.len(), 8);
    let shown = history(&bench);
    let numbers: Vec<_> = shown.iter().map(|line| line["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=8).rev().collect::<Vec<_>>());
    assert!(shown.iter().all(|line| line["state"] == "saved"), "{shown:?}");
}

#[test]
fn nothing_is_sent_if_it_could_not_be_remembered() {
    let bench = Bench::new();
    bench.place.write("a-file", "");
    let words = small(&["generate", "a fox", "-o", "fox.png"]);
    let run = |words: &[&str]| bench.run_with(&[("KILN_STATE_DIR", "a-file")], words);
    let said = run(&words).fails(1).stderr;
    for text in ["the history in a-file/history", "nothing was sent", "--no-history"] {
        assert!(said.contains(text), "{said}");
    }
    assert_eq!(bench.simulator.counts(), Default::default());
    run(&[&words[..], &["--no-history"]].concat()).ok();
    assert_eq!(kind_of(&bench.place.read("fox.png")), image::ImageFormat::Png);
}
