//! From a picture to the next one: what it was made from, other values of its fields, and presets.

use serde_json::{Value, json};

use crate::{
    bench::{Bench, fox, png, small},
    history::history,
};

#[test]
fn a_picture_of_a_batch_is_known_after_it_was_moved() {
    let bench = Bench::new();
    bench.run("batch run --prompt 'a fox' -s=64x64 -o pictures --names=1.png").ok();
    let request = bench.last_request();
    std::fs::rename(bench.place.path("pictures/1.png"), bench.place.path("moved.png")).unwrap();
    let shown = bench.run("show moved.png --json").ok().json();
    assert_eq!(shown["prompt"], "a fox");
    assert!(shown["path"].as_str().unwrap().ends_with("moved.png"), "{shown}");
    assert!(shown["job"].as_str().unwrap().starts_with("a-fox-"), "{shown}");
    let beside = bench.place.read("pictures/1.png.json");
    let beside: Value = serde_json::from_slice(&beside).unwrap();
    assert_eq!(shown["submitted_at"], beside["times"]["submitted"]);
    bench.run("again moved.png -o .").ok();
    assert_eq!(bench.last_request(), request);
    // A picture of nobody is still unknown.
    bench.place.write("mine.png", png(64, 64));
    bench.run("show mine.png").fails(2).says("the history has no picture mine.png");
}

/// A saved picture that was renamed or copied is known by its content.
#[test]
fn a_picture_knows_what_it_was_made_from() {
    let bench = Bench::new();
    bench.run(&fox(&["-o", "fox.png"])).ok();
    bench.place.write("mine.png", png(64, 64));
    bench.run(&small(&["edit", "in a storm", "@1", "mine.png", "-o", "storm.png"])).ok();
    std::fs::rename(bench.place.path("storm.png"), bench.place.path("moved.png")).unwrap();
    bench.place.write("copy.png", bench.place.read("fox.png"));
    bench.run(&small(&["edit", "both", "moved.png", "copy.png", "-o", "both.png"])).ok();
    bench.run("again @3 --seed 7 -o again.png").ok();
    bench.run(&fox(&["-o", "other.png"])).ok();
    let facts = history(&bench);
    let sources: Vec<_> =
        facts.iter().rev().map(|it| (&it["made_from"], &it["again_of"])).collect();
    let null = Value::Null;
    let [none, one, two, three] = [json!([]), json!([1]), json!([1, 2]), json!(3)];
    assert_eq!(
        sources,
        [(&none, &null), (&one, &null), (&two, &null), (&two, &three), (&none, &null)]
    );
    let shown = bench.run("show @4 --info").ok().text();
    assert!(shown.contains("\nmade from      @1, @2\nagain of       @3\n"), "{shown}");
    let tree = bench.run("history --tree").ok().text();
    let names: Vec<&str> = tree.lines().map(|line| &line[..line.find('@').unwrap_or(0)]).collect();
    let numbers: Vec<_> =
        tree.lines().filter_map(|line| line.split_once('@')?.1.split(' ').next()).collect();
    assert_eq!(
        (names, numbers),
        (vec!["", "", "", "└ ", "  └ ", "    └ "], vec!["5", "1", "2", "3", "4"],),
        "{tree}"
    );
    // A long chain ends further to the right only for a while.
    for number in 5..30 {
        bench.run(&["again", &format!("@{number}"), "--seed", &number.to_string(), "-o", "."]).ok();
    }
    let chain = bench.run("history --limit 1 --tree").ok().text();
    let columns = chain.lines().skip(1).map(|line| line.find('@').unwrap());
    assert_eq!((chain.lines().count(), columns.max()), (27, Some(2 * 20 + 4)), "{chain}");
    // The sources of those that are listed, too.
    let last = bench.run("history both --limit 1 --tree").ok().text();
    assert!(last.contains("└ @4") && last.contains("@1") && !last.contains("@5"), "{last}");
}

#[test]
fn fields_are_varied_with_the_same_seed() {
    let bench = Bench::new();
    let words = ["generate", "a fox", "-m", "gen-2-flex", "--vary", "guidance=3,5", "--vary"];
    let words =
        small(&[&words[..], &["steps=10..11", "-n", "2", "-o", "{name}-{seed}.png"]].concat());
    let dry = bench.run(&[&words[..], &["--dry-run"]].concat()).ok().text();
    assert!(dry.contains("8 pictures:\n  guidance 3, steps 10, seed "), "{dry}");
    assert_eq!(bench.simulator.counts().accepted, 0);
    bench.run(&words).ok();
    let tasks = bench.simulator.tasks();
    let mut sent: Vec<_> = tasks
        .iter()
        .map(|task| {
            let field = |name: &str| task.request[name].to_string();
            (field("seed"), field("guidance"), field("steps"))
        })
        .collect();
    sent.sort();
    let seeds = [&sent[0].0.clone(), &sent[7].0.clone()];
    assert_ne!(seeds[0], seeds[1]);
    let mut expected = Vec::new();
    for seed in seeds {
        for (guidance, steps) in [("3", "10"), ("3", "11"), ("5", "10"), ("5", "11")] {
            expected.push((seed.clone(), guidance.to_owned(), steps.to_owned()));
            assert!(
                bench.place.path(&format!("guidance-{guidance}-steps-{steps}-{seed}.png")).exists()
            );
        }
    }
    assert_eq!(sent, expected);
    let numbers: Vec<_> =
        history(&bench).iter().map(|it| (it["number"].as_u64(), it["index"].as_u64())).collect();
    assert!(numbers.iter().all(|(number, index)| number == index), "{numbers:?}");
}

#[test]
fn images_sizes_and_seeds_are_varied_too() {
    let bench = Bench::new();
    bench.place.write("cat.png", png(64, 64));
    bench.place.write("dog.png", png(72, 64));
    let vary = ["edit", "a hat", "cat.png", "--vary", "seed=1..3", "--vary", "size=64x64,128x64"];
    bench.run(&[&vary[..], &["-o", "{name}.png"]].concat()).ok();
    let mut sent: Vec<_> = bench
        .simulator
        .tasks()
        .iter()
        .map(|task| (task.request["seed"].as_u64(), task.request["width"].as_u64()))
        .collect();
    sent.sort();
    let expected: Vec<_> = [1, 2, 3]
        .iter()
        .flat_map(|seed| [64, 128].map(|width| (Some(*seed), Some(width))))
        .collect();
    assert_eq!(sent, expected);
    let images = ["run", "gen-2-pro", "--prompt", "a hat", "--vary", "input-image=cat.png,dog.png"];
    bench.run(&small(&[&images[..], &["-o", "."]].concat())).ok();
    assert_eq!(bench.simulator.counts().accepted, 8);
}

#[test]
fn again_takes_another_model_and_leaves_out_what_it_does_not_have() {
    let bench = Bench::new();
    let first = ["run", "gen-2-flex", "--prompt", "a fox", "--guidance", "4", "--seed", "9"];
    bench.run(&small(&[&first[..], &["-o", "fox.png"]].concat())).ok();
    let other = bench.run("again @1 -m gen-2-pro -o pro.png").ok();
    assert!(other.stderr.contains("gen-2-pro has no such fields, so they are left out: guidance"));
    let request = bench.last_request();
    assert_eq!((&request["seed"], &request["prompt"]), (&json!(9), &json!("a fox")));
    assert_eq!((&request["guidance"], &request["width"]), (&Value::Null, &json!(64)));
    let entry = &history(&bench)[0];
    assert_eq!((&entry["model"], &entry["again_of"]), (&json!("gen-2-pro"), &json!(1)));
    // The flags are those of the other model.
    bench.run("again @2 -m gen-2-flex --guidance 7 -o flex.png").ok();
    assert_eq!(bench.last_request()["guidance"], 7);
    bench.run("again @1 -m gen-2-pro --guidance 7").fails(2);
    bench.run("again @1 --extra style=oil -o oil.png").ok();
    assert_eq!(bench.last_request()["style"], "oil");
}

#[test]
fn a_simulated_picture_is_not_in_the_history() {
    let bench = Bench::new();
    bench.run(&fox(&["--simulate", "-o", "fox.png"])).ok();
    let unknown = bench.run("again fox.png").fails(2).stderr;
    assert!(unknown.contains("the history has no picture fox.png"), "{unknown}");
    assert!(unknown.contains("--simulate and --no-history record nothing"), "{unknown}");
}

#[test]
fn a_preset_has_a_model_fields_and_a_prompt() {
    let bench = Bench::new();
    bench.place.configure("size = \"256x256\"\n\n[profile.work]\nmax_active = 2");
    let first = ["run", "gen-2-flex", "--prompt", "a fox", "--guidance", "4", "--seed", "9"];
    bench.run(&small(&[&first[..], &["-o", "fox.png"]].concat())).ok();
    let prompt = "a {{poster}} of {prompt}, in {colors}";
    bench.run(&["preset", "save", "poster", "--from", "@1", "--prompt", prompt]).ok();
    let file = std::fs::read_to_string(bench.place.config("config.toml")).unwrap();
    assert!(
        file.starts_with(
            "size = \"256x256\"\n\n[profile.work]\nmax_active = 2\n\n[preset.poster]\n"
        )
    );
    let poster = ["--preset", "poster", "--part", "colors=red", "-o", "poster.png"];
    bench.run(&[&["generate", "an owl"], &poster[..]].concat()).ok();
    let request = bench.last_request();
    assert_eq!(request["prompt"], "a {poster} of an owl, in red");
    assert_eq!((&request["guidance"], &request["width"]), (&json!(4), &json!(64)));
    assert_ne!(request["seed"], 9, "a preset makes other pictures");
    assert_eq!(history(&bench)[0]["model"], "gen-2-flex");
    // Flags precede it, and other models have some of its fields.
    let other = ["-m", "gen-2-pro", "-s", "128x64", "--overwrite"];
    bench
        .run(&[&["generate", "an owl"], &poster[..], &other].concat())
        .ok()
        .says("left out: guidance");
    assert_eq!(bench.last_request()["width"], 128);
    bench.run(&[&["edit", "an owl", "fox.png"], &poster[..]].concat()).ok();
    assert_eq!(bench.last_request()["prompt"], "a {poster} of an owl, in red");

    let accepted = bench.simulator.counts().accepted;
    for (words, problem) in [
        (&["an owl", "--preset", "poster"][..], "needs {colors}"),
        (&["--preset", "poster", "--part", "colors=red"], "needs {prompt}"),
        (&["an owl", "--preset", "posters"], "there is no preset `posters`"),
        (&["an owl", "--preset", "poster", "--part", "colour=red"], "has no {colour}"),
        (&["an owl", "--part", "colors=red"], "--preset"),
        (&[], "PROMPT"),
    ] {
        let refused = bench.run(&[&["generate"], words].concat()).fails(2).stderr;
        assert!(refused.contains(problem), "{problem}: {refused}");
    }
    assert_eq!(bench.simulator.counts().accepted, accepted);
    let listed = bench.run("preset").ok().text();
    assert!(listed.starts_with("poster  gen-2-flex ") && listed.contains("guidance=4"), "{listed}");
    let shown = bench.run("preset show poster").ok().text();
    assert!(file.ends_with(&shown), "{shown}");
    bench.run("config set describe true").ok();
    bench.run("preset remove poster").ok();
    bench.run("preset remove poster").fails(2);
    let file = std::fs::read_to_string(bench.place.config("config.toml")).unwrap();
    assert!(
        !file.contains("preset") && file.contains("describe") && file.contains("[profile.work]")
    );
}

#[test]
fn the_history_is_searched_by_everything_it_says() {
    let bench = Bench::new();
    bench.run(&fox(&["-n", "2", "-o", "{index}.png"])).ok();
    bench.run(&small(&["run", "gen-2-flex", "--prompt", "an owl", "-o", "owl.png"])).ok();
    bench.run(&fox(&["-o", "x.png", "--seed", "1"])).ok();
    bench.run(&small(&["generate", "a fox [[content-moderated]]"])).fails(5);
    let found = |words: &[&str]| -> Vec<Value> {
        let lines = bench.run(&[&["history", "--json"], words].concat()).ok().lines();
        lines.iter().map(|line| line["number"].clone()).collect()
    };
    let today = &bench.run("history --utc").ok().text();
    let today = today.lines().nth(1).unwrap().split_whitespace().nth(1).unwrap().to_owned();
    for (words, numbers) in [
        (&["FOX", "2.png"][..], &[2][..]),
        (&["flex"], &[3]),
        (&["--model", "gen-2-pro", "--limit=1", "owl"], &[]),
        (&["--model", "gen-2-pro", "--limit=1", "2.png"], &[2]),
        (&["--since", "2020-01-31"], &[5, 4, 3, 2, 1]),
        (&["moderated"], &[5]),
        (&["--group", "@1"], &[2, 1]),
        (&["--utc", &today, "owl"], &[3]),
        (&["--since", "1h", "owl"], &[3]),
        (&["--before", "1h"], &[]),
        (&["--cost", "3", "--limit", "2"], &[5, 4]),
        (&["--cost", "2.5..", "flex"], &[3]),
        (&["--cost", "4.."], &[]),
        (&["--cost", "..3", "x.png"], &[4]),
    ] {
        assert_eq!(found(words), numbers, "{words:?}");
    }
    let none = bench.run("history --since 2999-01-01").ok();
    assert_eq!((none.text(), none.stderr.as_str()), (String::new(), "no submission fits\n"));
    bench.run("history --since 2026-13-01").fails(2);
    bench.run("history --cost much").fails(2);
    bench.run("history --group @9").fails(2);
}
