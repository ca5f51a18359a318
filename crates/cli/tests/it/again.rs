//! `kiln show`, `again` and `open`: what is kept of a picture, and the same picture again.

use std::fs;

use serde_json::{Value, json};

use crate::{
    bench::{Bench, fox, png},
    history::{history, log},
};

/// The last accepted request, without the fields that `again` was to change.
fn request_without(bench: &Bench, names: &[&str]) -> Value {
    let mut request = bench.last_request();
    let fields = request.as_object_mut().unwrap();
    names.iter().for_each(|name| drop(fields.remove(*name)));
    request
}

#[test]
fn the_same_request_is_sent_again_with_changes() {
    let bench = Bench::new();
    bench.run(&fox(&["-o", "fox.png"])).ok();
    let first = bench.last_request();
    let content = bench.place.read("fox.png");
    bench.run("again @1 -o same.png").ok();
    assert_eq!(bench.last_request(), first);
    assert_eq!(bench.place.read("same.png"), content, "the seed is the same");
    bench.run("again fox.png --size 128x64 -o larger.jpg").ok();
    let changed = json!({ "width": 128, "height": 64, "output_format": "jpeg" });
    let request = bench.last_request();
    for (name, value) in changed.as_object().unwrap() {
        assert_eq!(request[name], *value);
    }
    let names = ["width", "height", "output_format"];
    let mut same = first.clone();
    names.iter().for_each(|name| drop(same.as_object_mut().unwrap().remove(*name)));
    assert_eq!(request_without(&bench, &names), same);

    // A new seed for each picture, also for the settings of this moment.
    bench.place.configure("size = \"256x256\"\n");
    let made = bench.run("again --count=2 @last -o {seed}.{ext}").ok().text();
    assert_eq!(made.lines().count(), 2);
    let seeds: Vec<Value> = history(&bench)[..2].iter().map(|one| one["seed"].clone()).collect();
    assert!(seeds[0] != seeds[1] && !seeds.contains(&first["seed"]), "{seeds:?}");
    assert_eq!(bench.last_request()["width"], 128, "settings do not change the picture");
    assert_eq!(bench.simulator.counts().accepted, 5);
}

#[test]
fn another_profile_pays_only_if_a_person_names_it() {
    let bench = Bench::new();
    bench.run(&fox(&["-o", "fox.png"])).ok();
    bench.place.configure("[profile.work]\nmax_active = 2\n");
    let work = [("KILN_PROFILE", "work")];
    let refused = bench.run_with(&work, "again @1 -o other.png").fails(2);
    let stderr = refused.stderr;
    assert!(stderr.contains("@1 was paid with the profile default, not work"), "{stderr}");
    assert!(stderr.contains("add --profile default, or --profile work to pay"), "{stderr}");
    assert_eq!(bench.simulator.counts().accepted, 1);
    bench.run("--profile work again @1 -o other.png").ok();
    bench.run("again @2 -o third.png --profile default").ok();
    assert_eq!(bench.simulator.counts().accepted, 3);
}

#[test]
fn an_image_must_be_the_same_file() {
    let bench = Bench::new();
    bench.place.write("cat.png", png(64, 64));
    bench.run("edit 'a hat' cat.png -o hat.png").ok();
    fs::create_dir(bench.place.path("below")).unwrap();
    let mut command = bench.kiln("again @1 -o other.png");
    let below = command.current_dir(bench.place.path("below")).output().unwrap();
    assert!(below.status.success(), "a path works in another directory: {below:?}");

    bench.place.write("cat.png", png(64, 72));
    let changed = bench.run("again @1").fails(2);
    changed.says("cat.png has changed since");
    changed.says("nothing was sent");
    fs::remove_file(bench.place.path("cat.png")).unwrap();
    bench.run("again @1").fails(1).says("could not read the image");
    assert_eq!(bench.simulator.counts().accepted, 2);

    bench.place.write("dog.png", png(72, 64));
    bench.run("again @1 --input-image dog.png -o dog-hat.png").ok();
    let piped = bench.run_with_stdin("edit 'a hat' - -o x.png", &png(64, 64)).ok();
    assert_eq!(piped.text(), "x.png\n");
    bench.run("again @last").fails(2).says("the image in `input_image` was not kept");
}

#[test]
fn secrets_are_not_kept_and_must_be_passed_again() {
    let bench = Bench::new();
    let cat = "https://example.com/cat.png?sig=HUSH";
    let webhook = ["--webhook-url", "https://example.com/?token=HUSH", "--webhook-secret", "HUSH"];
    let words = ["edit", "a hat", cat, "--extra", "api_key=HUSH", "--extra", "new={\"a\":[1]}"];
    bench.run(&[&words[..], &webhook, &["-o", "hat.png"]].concat()).ok();
    let first = request_without(&bench, &["webhook_url", "webhook_secret"]);
    assert!(!log(&bench).contains("HUSH"), "{}", log(&bench));

    let passed = ["--input-image", cat, "--extra", "api_key=HUSH"];
    for (problem, others) in [
        ("the query of the URL in `input_image` was not kept", &passed[2..]),
        ("the secret in `api_key` was not kept", &passed[..2]),
    ] {
        bench.run(&[&["again", "@1"], others].concat()).fails(2).says(problem);
    }
    bench.run(&[&["again", "@1", "-o", "other.png"], &passed[..]].concat()).ok();
    assert_eq!(bench.last_request(), first);
}

#[test]
fn what_can_not_be_made_again_says_why() {
    let bench = Bench::new();
    bench.run(&fox(&["-o", "fox.png"])).ok();
    bench.place.write("other.png", png(64, 64));
    bench.place.write("other.png.json", "{}");
    for (words, problem) in [
        (&["again", "@7", "--guidance", "3"][..], "the history has no submission @7"),
        (&["again", "no-such-id"], "the history has no task no-such-id"),
        (&["again", "other.png"], "other.png.json does not describe a picture"),
        (&["again", "@1", "--guidance", "3"], "`guidance` is a field of gen-2-flex"),
        (&["again", "--prompt", "@1", "x"], "the history has no task x"),
        (&["show", "@one"], "`@one` is not a submission"),
        (&["show", "@7", "--open"], "the history has no submission @7"),
    ] {
        let outcome = bench.run(words).fails(2);
        assert!(outcome.stderr.contains(problem), "{words:?}: {}", outcome.stderr);
    }
    fs::remove_file(bench.place.path("other.png.json")).unwrap();
    bench.run("again other.png").fails(2).says("no other.png.json is beside it");
    fs::remove_file(bench.place.path("fox.png")).unwrap();
    let gone = bench.run("show @1 --open").fails(2);
    let advice = "`kiln task save @1 -o fox.png` fetches it again";
    gone.says(advice);
    bench.run("task submit gen-2-pro --prompt 'a wolf'").ok();
    bench.run("show @last --open").fails(2).says("`kiln task save @2` saves it");
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn show_has_all_that_is_known() {
    let bench = Bench::new();
    bench.place.write("cat.png", png(64, 64));
    bench.run(&["edit", "a\nhat", "cat.png", "--seed", "7", "-o", "hat.png"]).ok();
    let shown = bench.run("show hat.png --json").ok().json();
    assert_eq!(shown, bench.run("show @last --json").ok().json());
    let image = &shown["fields"]["input_image"];
    assert_eq!(image["path"], json!(bench.place.path("cat.png").canonicalize().unwrap()));
    assert_eq!(image["sha256"].as_str().unwrap().len(), 64);
    for (name, value) in [
        ("number", json!(1)),
        ("state", json!("saved")),
        ("model", json!("gen-2-pro")),
        ("seed", json!(7)),
        ("prompt", json!("a\nhat")),
        ("id", json!(bench.simulator.tasks()[0].id)),
    ] {
        assert_eq!(shown[name], value, "{name}");
    }
    for name in ["submitted_at", "accepted_at", "ready_at", "bytes"] {
        assert!(shown[name].is_u64(), "{name}: {shown}");
    }
    let people = bench.run("show @1").ok().text();
    for line in ["number         @1\n", "path           hat.png\n", "prompt         a hat\n"] {
        assert!(people.contains(line), "{people}");
    }
    assert!(people.contains("cat.png (SHA-256 "), "{people}");
}

#[test]
fn a_description_is_written_beside_the_picture() {
    let bench = Bench::new();
    bench.place.write("cat.png", png(64, 64));
    bench.run("edit 'a hat' cat.png --describe -o hat.png").ok();
    let described: Value = serde_json::from_slice(&bench.place.read("hat.png.json")).unwrap();
    let shown = bench.run("show hat.png --json").ok().json();
    for (member, name) in [("task_id", "id"), ("model", "model"), ("seed", "seed")] {
        assert_eq!(described[member], shown[name], "{member}");
    }
    assert_eq!(described["picture"]["sha256"], shown["sha256"]);
    assert_eq!(described["request"]["fields"], shown["fields"]);
    assert!(described["times"]["submitted"].as_str().unwrap().ends_with('Z'), "{described}");

    // Without the history, too.
    fs::remove_dir_all(bench.place.history()).unwrap();
    let first = bench.last_request();
    for (name, file) in [("hat.png", "one.png"), ("hat.png.json", "two.png")] {
        bench.run(&["again", name, "--no-history", "-o", file]).ok();
        assert_eq!(bench.last_request(), first);
    }
    let people = bench.run("show hat.png.json").ok().text();
    assert!(people.contains("path           hat.png\n"), "{people}");
    bench.place.write("cat.png", png(64, 72));
    bench.run("again hat.png").fails(2);

    bench.place.configure("describe = true\n");
    bench.run("task submit gen-2-pro --prompt 'a fox' -o fox.png").ok();
    bench.place.configure("describe = \"perhaps\"\n");
    bench.run(&fox(&[])).fails(2);
    bench.place.configure("");
    bench.run("resume").ok();
    assert!(bench.place.files().contains(&"fox.png.json".to_owned()), "{:?}", bench.place.files());
    bench.run(&fox(&["--describe", "-o", "-"])).fails(2);
}

#[test]
fn a_description_that_can_not_be_written_is_a_warning() {
    let bench = Bench::new();
    for (name, content) in [("mine.png", Some("{\"mine\": true}")), ("folder.png", None)] {
        let beside = format!("{name}.json");
        match content {
            Some(content) => bench.place.write(&beside, content),
            None => fs::create_dir(bench.place.path(&beside)).unwrap(),
        }
        let made = bench.run(&fox(&["--describe", "-o", name])).ok();
        let warning = format!("{name} is saved, but could not be described: ");
        made.says(&warning);
        assert_eq!(made.text(), format!("{name}\n"));
    }
    assert_eq!(bench.place.read("mine.png.json"), b"{\"mine\": true}");
    assert!(history(&bench).iter().all(|entry| entry["state"] == "saved"));
}
