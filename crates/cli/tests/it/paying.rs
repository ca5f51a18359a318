//! Nothing is paid by mistake: requests that nobody can have meant are refused before they are
//! sent.

use serde_json::json;

use crate::{
    assert_shown,
    bench::{Bench, Place, Words as _, png, small},
    errors::{scripted, shown},
};

#[test]
fn the_prompt_is_read_from_standard_input_or_a_file() {
    let bench = Bench::new();
    bench.place.write("prompt.txt", "a wolf\nat night\r\n");
    let prompt = || bench.last_request()["prompt"].clone();
    bench.run_with_stdin(&small(&["generate", "-"]), b"a fox\n").ok();
    assert_eq!(prompt(), "a fox");
    bench.run(&small(&["generate", "@prompt.txt"])).ok();
    assert_eq!(prompt(), "a wolf\nat night");
    bench.run(&small(&["generate", "@@home"])).ok();
    assert_eq!(prompt(), "@home");
    bench.place.write("cat.png", png(64, 64));
    bench.run_with_stdin(&small(&["edit", "-", "cat.png"]), b"a hat").ok();
    assert_eq!(prompt(), "a hat");
}

#[test]
fn a_project_without_credits_has_an_exit_code_of_its_own() {
    let unpaid = scripted(&["generate", "a fox"], |server| {
        server.next().respond(402, &json!({ "detail": "Insufficient credits." }));
    });
    assert_shown!("unpaid", shown(&unpaid.fails(11)));
}

#[test]
fn a_dry_run_shows_the_request_and_sends_nothing() {
    let place = Place::new();
    place.write("cat.png", png(72, 64));
    place.write("mask.png", png(72, 64));
    let shown = |words: &[&str]| {
        // The settings of a service that does not exist, without a key.
        let variables = [
            ("IMAGEKILN_BASE_URL", "http://127.0.0.1:1"),
            ("IMAGEKILN_MODEL_PREFIX", "xyz"),
            ("IMAGEKILN_WEBHOOK_URL", "https://example.com/hook?token=HUSH"),
            ("IMAGEKILN_WEBHOOK_SECRET", "HUSH"),
        ];
        let outcome = place.run_with(&variables, words).ok();
        assert_eq!(outcome.stderr, "");
        assert!(!outcome.text().contains("HUSH"), "{}", outcome.text());
        outcome.text()
    };
    let edit = ["edit", "a hat", "cat.png", "https://example.com/hat.png?sig=HUSH", "--seed", "7"];
    let edit = [&edit[..], &["--dry-run"]].concat();
    let generate = ["generate", "a fox", "--seed", "7", "--dry-run", "-o", "fox.webp"];
    let run = "run gen-tools/erase-v1 --image=cat.png --mask=mask.png --seed=7 --dry-run".words();
    let submit = "task submit gen-tools/deblur-v1 --image=cat.png --seed=7 --dry-run".words();
    let texts = [&edit[..], &generate, &run, &submit];
    let texts = texts.map(|words| format!("$ kiln {}\n{}", words.join(" "), shown(words)));
    assert_shown!("dry_run", texts.join("\n"));

    let json: serde_json::Value =
        serde_json::from_str(&shown(&[&edit[..], &["--json"]].concat())).unwrap();
    let image = &json["body"]["input_image"];
    let bytes = png(72, 64).len();
    assert_eq!(
        *image,
        json!({ "format": "png", "width": 72, "height": 64, "bytes": bytes, "file": "cat.png" })
    );
    assert_eq!((&json["path"], &json["price"]), (&json!("/v1/xyz-2-pro"), &json!(null)));
    assert_eq!(place.files(), ["cat.png", "mask.png"]);

    place.run("config set prices gen-2-pro=2.5").ok();
    let priced = place.run("generate 'a fox' --dry-run").ok().text();
    assert!(priced.contains("\nprice: 2.50 credits a picture, as configured\n"), "{priced}");

    // The checks apply, too.
    place.run("generate '' --dry-run").fails(2);
    place.run("generate 'a fox' --width 16 --dry-run").fails(2);
    let simulated = place.run("--simulate generate 'a fox' --dry-run --json").ok();
    assert_eq!(simulated.json()["price"], 0);
}

/// A script gets a code, and nothing is sent.
#[test]
fn the_same_request_is_paid_again_only_if_the_user_insists() {
    let bench = Bench::new();
    let words = ["generate", "a fox", "--size", "64x64", "--seed", "7", "-o", "fox.png"];
    let run = |more: &[&'static str]| bench.run(&[&words[..], more].concat());
    let accepted = || bench.simulator.counts().accepted;
    run(&[]).ok();
    let refused = run(&["--json"]).fails(12).error();
    assert_eq!(refused["kind"], "already_paid");
    let message = "the same request is already paid as @1, saved as fox.png";
    assert_eq!(refused["message"], message);
    let plan = run(&["--dry-run"]).ok().text();
    assert!(plan.contains("\nalready paid as @1, saved as fox.png\n"), "{plan}");
    assert_eq!(run(&["--dry-run", "--json"]).ok().json()["already_paid"], 1);
    let several = [&words[..4], &["--seed", "6..8", "-o", "{seed}.png"]].concat();
    assert!(bench.run(&several).fails(12).stderr.contains("@1"));
    assert_eq!(accepted(), 1);

    run(&["--again"]).ok();
    bench.run("again @1").ok();
    // Each draws its own seed.
    (0..2).for_each(|_| drop(bench.run(&words[..4]).ok()));
    bench.run(&[&words[..5], &["8"]].concat()).ok();
    assert_eq!(accepted(), 6);
}

#[test]
fn a_request_that_failed_or_whose_image_changed_is_another_one() {
    let bench = Bench::new();
    (0..2)
        .for_each(|_| drop(bench.run("generate 'a [[error]] fox' --size 64x64 --seed 7").fails(4)));
    bench.place.write("cat.png", png(64, 64));
    let edit = ["edit", "a hat", "cat.png", "--seed", "7", "-o", "."];
    bench.run(&edit).ok();
    bench.run(&edit).fails(12);
    bench.place.write("cat.png", png(64, 80));
    bench.run(&edit).ok();
    assert_eq!(bench.simulator.counts().accepted, 4);
}
