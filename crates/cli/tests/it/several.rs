//! Several pictures from one command: seeds, prompts, names, the limit of active tasks, and
//! failures of some of them.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{AGES, Bench, Place, kind_of, png, small},
    history::history,
    running::Running,
    server::Server,
};
use imagekiln_simulator::Config;

/// The lines of standard output, sorted: pictures are printed when they are saved.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// The values of a field in all accepted requests, sorted.
fn sent(bench: &Bench, field: &str) -> Vec<String> {
    let tasks = bench.simulator.tasks();
    let mut values: Vec<_> = tasks.iter().map(|task| task.request[field].to_string()).collect();
    values.sort_unstable();
    values
}

#[test]
fn a_number_of_pictures_goes_to_a_directory() {
    let bench = Bench::new();
    let made = bench.run(&small(&["generate", "a fox", "-n", "4", "-o", "new/", "--mkdir"])).ok();
    let paths: BTreeSet<_> = sorted(&made.text()).into_iter().map(str::to_owned).collect();
    assert_eq!(paths.len(), 4, "{}", made.text());
    for path in &paths {
        assert!(path.starts_with("new/a-fox-") && path.ends_with(".jpg"), "{path}");
        kind_of(&bench.place.read(path));
    }
    let seeds: BTreeSet<_> = sent(&bench, "seed").into_iter().collect();
    assert_eq!(seeds.len(), 4, "each has its own: {seeds:?}");
    assert!(seeds.iter().all(|seed| seed.parse::<u32>().is_ok_and(|seed| seed < 1 << 31)));
    let states: Vec<_> = history(&bench).iter().map(|entry| entry["state"].clone()).collect();
    assert_eq!(states, ["saved"; 4]);
}

/// Nobody pays for a digit too many.
#[test]
fn many_pictures_need_a_yes() {
    let bench = Bench::new();
    let many = small(&["generate", "a fox", "-n", "21", "-o", "."]);
    let error = bench.run(&[&["--json"], &many[..]].concat()).fails(2).error();
    assert_eq!(
        error["message"],
        "21 pictures, whose price is not known: more than 20, and nobody can be asked"
    );
    let advice = "nothing was sent; pass --yes, or `kiln config set ask_above NUMBER`";
    assert_eq!(error["advice"], advice);
    bench.place.configure("ask_above = 3\nprices = [\"gen-2-pro=1.5\"]");
    let four = small(&["generate", "a fox", "-n", "4", "-o", "."]);
    bench.run(&four).fails(2).says("4 pictures for 6 credits: more than 3");
    assert_eq!(bench.simulator.counts().accepted, 0);
    bench.run(&[&four[..], &["-y"]].concat()).ok();
    bench.run(&small(&["generate", "a fox", "-n", "3", "-o", "."])).ok();
    assert_eq!(bench.simulator.counts().accepted, 7);
}

#[test]
fn seeds_make_a_picture_each_and_name_it() {
    let bench = Bench::new();
    let words = ["generate", "a fox", "--seed", "1,3..4", "-o", "fox-{seed}.{ext}"];
    let made = bench.run(&small(&words)).ok();
    assert_eq!(sorted(&made.text()), ["fox-1.jpg", "fox-3.jpg", "fox-4.jpg"]);
    assert_eq!(sent(&bench, "seed"), ["1", "3", "4"]);
    let more = ["--json", "--overwrite", "--again"];
    let mut results = bench.run(&[&small(&words)[..], &more].concat()).ok().lines();
    results.sort_by_key(|result| result["index"].as_u64());
    let facts = |result: &Value| json!([result["index"], result["seed"], result["path"]]);
    let found: Vec<_> = results.iter().map(facts).collect();
    assert_eq!(
        json!(found),
        json!([[1, 1, "fox-1.jpg"], [2, 3, "fox-3.jpg"], [3, 4, "fox-4.jpg"]])
    );
    let one = bench.run(&small(&["generate", "a fox", "--seed", "9", "-o", "{model}/{seed}.png"]));
    assert_eq!(one.ok().text(), "gen-2-pro/9.png\n");
    let drawn = bench.run(&small(&["generate", "a fox", "-o", "{seed}.png"])).ok().text();
    assert_eq!(drawn, format!("{}.png\n", bench.last_request()["seed"]));
}

#[test]
fn prompts_and_seeds_are_combined() {
    let bench = Bench::new();
    bench.place.write("owl.txt", "owl\n");
    let words = ["generate", "a fox", "@owl.txt", "--seed", "1..2", "-o", "{index:02}-{slug}.png"];
    let made = bench.run(&small(&words)).ok();
    assert_eq!(sorted(&made.text()), ["01-a-fox.png", "02-a-fox.png", "03-owl.png", "04-owl.png"]);
    assert_eq!(sent(&bench, "prompt"), [r#""a fox""#, r#""a fox""#, r#""owl""#, r#""owl""#]);
    assert_eq!(sent(&bench, "seed"), ["1", "1", "2", "2"]);
    let mut remembered: Vec<_> = history(&bench)
        .iter()
        .map(|entry| (entry["prompt"].clone(), entry["path"].clone()))
        .collect();
    remembered.sort_by_key(|(_, path)| path.to_string());
    assert_eq!(remembered[3].0, "owl");
    assert!(remembered[3].1.as_str().unwrap().ends_with("/04-owl.png"), "{remembered:?}");
}

#[test]
fn other_commands_make_several_pictures_too() {
    let bench = Bench::new();
    bench.place.write("cat.png", png(64, 64));
    bench.place.write("mask.png", png(64, 64));
    for (line, expected) in [
        ("run gen-2-flex --prompt fox --seed 1..2 -o a{seed}.png", ["a1.png", "a2.png"]),
        ("edit 'a hat' cat.png -s 64x64 -n 2 -o b{index}.png", ["b1.png", "b2.png"]),
        ("tool inpaint hat cat.png --mask mask.png -n2 -o c{index}.png", ["c1.png", "c2.png"]),
        ("tool deblur cat.png --count 2 -o d{index}.png", ["d1.png", "d2.png"]),
    ] {
        let made = bench.run(line).ok().text();
        assert_eq!(sorted(&made), expected, "{line}");
        expected.iter().for_each(|name| drop(bench.place.read(name)));
    }
}

#[test]
fn existing_files_are_replaced_only_with_overwrite() {
    let bench = Bench::new();
    let words = small(&["generate", "a fox", "--seed", "1..2", "-o", "fox-{seed}.png", "--again"]);
    bench.run(&words).ok();
    let again = bench.run(&words).ok();
    assert_eq!(sorted(&again.text()), ["fox-1-2.png", "fox-2-2.png"]);
    let replaced = bench.run(&[&words[..], &["--overwrite"]].concat()).ok();
    assert_eq!(sorted(&replaced.text()), ["fox-1.png", "fox-2.png"]);
    assert_eq!(bench.place.files(), ["fox-1-2.png", "fox-1.png", "fox-2-2.png", "fox-2.png"]);
}

#[test]
fn a_dry_run_lists_the_pictures() {
    let bench = Bench::new();
    let words = ["generate", "a fox", "an owl", "--seed", "1..6", "-o", "{slug}-{seed}.png"];
    let words = [&small(&words)[..], &["--dry-run"]].concat();
    let shown = bench.run(&words).ok();
    assert_shown!("dry_run_of_several", shown.text());
    let bodies = bench.run(&[&words[..], &["--json"]].concat()).ok().lines();
    assert_eq!(bodies.len(), 12);
    assert_eq!(bodies[7]["body"]["seed"], 2);
    assert_eq!((bench.simulator.requests().len(), bench.place.files().len()), (0, 0));
}

/// A simulator whose clock stands still, and a command with at most two active tasks.
fn two_of_five_active() -> (Bench, Running) {
    let bench = Bench::ready_after(AGES);
    bench.simulator.clock().set_speed(0.0);
    bench.place.configure("max_active = 2\n");
    let words = small(&["generate", "a fox", "--seed", "1..5", "-o", "fox-{seed}.{ext}"]);
    let mut run = Running::start(&mut bench.kiln(&words));
    run.until("submitted task");
    run.until("submitted task");
    (bench, run)
}

#[track_caller]
fn assert_resumed(bench: &Bench) {
    assert_eq!(bench.simulator.counts().accepted, 2, "the limit is in the settings");
    bench.simulator.clock().advance(AGES);
    let resumed = bench.run("resume").ok();
    assert_eq!(sorted(&resumed.text()), ["fox-1.jpg", "fox-2.jpg"]);
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn after_an_interruption_nothing_more_is_submitted_and_the_rest_is_resumed() {
    let (bench, run) = two_of_five_active();
    run.interrupt();
    let (code, stdout, said) = run.end();
    assert_eq!((code, stdout.as_str()), (130, ""), "{said}");
    let (_, said) = said.split_once("error: ").unwrap();
    assert_eq!(
        said,
        "5 of 5 pictures were not saved\n\
         advice: `kiln resume` saves the 2 whose tasks continue; 3 were not submitted and cost \
         nothing\n"
    );
    assert_resumed(&bench);
}

#[test]
fn without_a_history_each_interrupted_picture_has_its_own_command() {
    let bench = Bench::ready_after(AGES);
    let words = ["generate", "a fox", "-n", "2", "-o", ".", "--no-history"];
    let mut run = Running::start(&mut bench.kiln(&small(&words)));
    run.until("submitted task");
    run.until("submitted task");
    run.interrupt();
    let (code, _, said) = run.end();
    assert_eq!(code, 130, "{said}");
    assert_eq!(said.matches("task save '{\"id\":").count(), 2, "{said}");
}

#[test]
fn after_a_kill_the_submitted_pictures_are_resumed_under_their_names() {
    let (bench, run) = two_of_five_active();
    run.kill();
    let entries = history(&bench);
    let outputs = entries.iter().map(|entry| entry["output"].as_str().unwrap());
    let names: BTreeSet<_> = outputs.map(|output| output.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["fox-1.{ext}", "fox-2.{ext}"]));
    assert_resumed(&bench);
}

#[test]
fn a_command_finds_out_how_many_active_tasks_the_service_allows() {
    for (allowed, most_refused) in [(6, 10), (100, 0)] {
        let bench = Bench::with(Config {
            max_active_tasks: allowed,
            ready_after: Duration::from_millis(300),
            ..Config::default()
        });
        let made = bench.run(&small(&["generate", "a fox", "-n", "40", "--yes", "-o", "."])).ok();
        assert_eq!(made.text().lines().count(), 40);
        let refused = bench.simulator.counts().refused_with(429);
        assert!(refused <= most_refused, "{refused} of {allowed}");
    }
}

/// The account has fewer slots than the command expects, as if another program used the others.
#[test]
fn a_refusal_because_of_too_many_tasks_loses_no_picture() {
    let bench = Bench::with(Config {
        max_active_tasks: 1,
        ready_after: Duration::from_millis(100),
        ..Config::default()
    });
    let made = bench.run(&small(&["generate", "a fox", "-n", "4", "-o", "."])).ok();
    assert_eq!(made.text().lines().count(), 4);
    let counts = bench.simulator.counts();
    assert_eq!((counts.accepted, counts.charged.hundredths()), (4, 1200));
    assert!(counts.refused_with(429) > 0, "no submission was refused");
}

#[test]
fn a_submission_that_waits_for_its_next_attempt_is_not_made_after_an_interruption() {
    let (place, server) = (Place::new(), Server::new());
    let mut command = place.kiln(&small(&["-vv", "generate", "a fox", "-n", "2"]));
    let mut run = Running::start(server.point(&mut command));
    for _ in 0..2 {
        server.next().respond_with(429, "retry-after: 30\r\n", &json!({ "detail": "busy" }));
    }
    run.until("retrying the submission");
    run.until("retrying the submission");
    run.interrupt();
    let (code, _, said) = run.end();
    assert_eq!(code, 130, "{said}");
    assert!(said.ends_with("advice: 2 were not submitted and cost nothing\n"), "{said}");
    assert_eq!(said.matches("finishing the submission").count(), 1, "{said}");
}

#[test]
fn a_picture_that_fails_leaves_the_others_alone() {
    let bench = Bench::new();
    let words =
        ["generate", "a fox", "a wolf [[content-moderated]]", "an owl", "-o", "{index}.png"];
    let made = bench.run(&small(&words)).fails(5);
    assert_eq!(sorted(&made.text()), ["1.png", "3.png"]);
    made.says("picture 2: error: ");
    assert!(made.stderr.ends_with("error: 1 of 3 pictures were not saved\n"), "{}", made.stderr);

    let made = bench.run(&[&small(&words)[..], &["--json"]].concat()).fails(5);
    let failed = made.events().into_iter().find(|event| event["event"] == "not_saved").unwrap();
    assert_eq!((&failed["index"], &failed["kind"]), (&json!(2), &json!("moderated")));
    let error = made.error();
    assert_eq!((&error["kind"], &error["exit_code"]), (&json!("not_saved"), &json!(5)));
}

#[test]
fn a_refused_submission_ends_the_command() {
    let poor = "organizations = [{ name = 'Default', credits = 7 }]";
    let bench =
        Bench::with(Config { ready_after: Duration::ZERO, ..Config::from_toml(poor).unwrap() });
    bench.place.configure("max_active = 1\n");
    let made = bench.run(&small(&["generate", "a fox", "-n", "5", "-o", "."])).fails(1);
    assert_eq!(made.text().lines().count(), 2, "{}", made.stderr);
    made.says("picture 3: error: ");
    assert!(made.stderr.ends_with("2 were not submitted and cost nothing\n"), "{}", made.stderr);
    let counts = bench.simulator.counts();
    assert_eq!((counts.accepted, counts.refused_with(402)), (2, 1));
}

#[test]
fn a_deprecated_model_is_named_once() {
    let bench = Bench::new();
    let words = ["generate", "--model", "gen-pro-1.0", "a fox", "--seed", "1,2"];
    let made = bench.run(&[&words[..], &["-o", "fox-{seed}.{ext}"]].concat()).ok();
    assert_eq!(made.stderr.matches("deprecated").count(), 1, "{}", made.stderr);
}

#[test]
fn one_edit_changes_many_pictures() {
    let bench = Bench::new();
    for name in ["a.png", "b.c.png", "a.jpg"] {
        bench.place.write(name, png(64, 64));
    }
    let edit = |words: &[&str]| {
        bench.run(&[&["edit", "--prompt", "at night", "a.png", "b.c.png"], words].concat())
    };
    let made = edit(&["-o", "out/", "--mkdir"]).ok();
    assert_eq!(sorted(&made.text()), ["out/a.jpg", "out/b.c.jpg"]);
    let totals = made.stderr.lines().last().unwrap();
    assert!(totals.starts_with("2 pictures, 6.00 credits, ") && totals.ends_with(" s"), "{totals}");
    for task in bench.simulator.tasks() {
        assert_eq!(task.request["prompt"], "at night");
        assert!(task.request.get("input_image").is_some());
        assert!(task.request.get("input_image_2").is_none());
    }
    assert_eq!(sorted(&edit(&[]).ok().text()), ["a-edited.jpg", "b.c-edited.jpg"]);
    let made = edit(&["-o", "out", "-n2", "--json"]).ok();
    let event = made.events().into_iter().find(|event| event["event"] == "totals").unwrap();
    assert_eq!((&event["saved"], &event["pictures"]), (&json!(4), &json!(4)));
    assert_eq!(event["credits"], 12.0);
    let path = json!(format!("out/b.c-{}.jpg", last_seed(&bench, "b.c")));
    assert!(made.lines().iter().any(|result| result["path"] == path), "{}", made.text());
    let accepted = bench.simulator.counts().accepted;
    let same = edit(&["a.jpg", "-o", "out/"]).fails(2);
    let problem = "3 pictures cannot all be saved as `out/a.{ext}`";
    same.says(problem);
    bench.run("edit --prompt 'at night'").fails(2);
    let one = bench.run("edit '--prompt=at night' a.png -o {name}/x.png").ok();
    assert_eq!(one.text(), "a/x.png\n");
    // Without the flag, the images are those of one picture.
    bench.run("edit 'at night' a.png b.c.png -o x.png").ok();
    assert_eq!(bench.simulator.counts().accepted, accepted + 2);
    let secret = "https://example.com/pictures/cat.png?token=a/HUSH.png";
    let named = bench.run(&["edit", "--prompt=x", secret, "--dry-run", secret, "-n", "2"]).ok();
    assert!(named.text().contains("cat-edited-"), "{}", named.text());
}

/// The seed of the last submission whose picture has this name.
fn last_seed(bench: &Bench, name: &str) -> Value {
    let entries = history(bench);
    let is_it = |entry: &&Value| entry["path"].as_str().unwrap().contains(&format!("{name}-"));
    entries.iter().find(is_it).unwrap()["seed"].clone()
}
