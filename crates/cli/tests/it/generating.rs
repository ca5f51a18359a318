//! `run`, `generate` and `edit`: the requests and the output.

use image::ImageFormat;
use serde_json::json;

use crate::bench::{AGES, Bench, Place, kind_of, png};

const SMALL: [&str; 4] = ["--width", "64", "--height", "64"];

fn with<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().chain(&SMALL).copied().collect()
}

#[test]
fn the_first_command_makes_a_picture_without_any_setting() {
    const PROMPT: &str = "a red fox in the snow";
    let place = Place::new();
    let words = [
        "--simulate",
        "generate",
        PROMPT,
        "--width",
        "1024",
        "--height",
        "768",
        "--seed",
        "7",
        "--output",
        "fox.png",
    ];
    let outcome = place.run(&words).ok();
    assert_eq!(outcome.text(), "fox.png\n");
    let shown = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fox.png")).unwrap();
    let command =
        format!("cargo kiln {}", words.join(" ").replace(PROMPT, &format!("\"{PROMPT}\"")));
    assert!(imagekiln_testbed::page("README.md").contains(&command), "{command}");
    assert!(place.read("fox.png") == shown, "run `{command} --overwrite` for docs/fox.png");
    assert_eq!(place.files(), ["fox.png"]);
}

#[test]
fn a_simulated_command_ignores_the_environment() {
    let place = Place::new();
    let mut command =
        place.kiln(&with(&["--simulate", "generate", "a fox", "--output", "fox.png"]));
    command.env("IMAGEKILN_API_KEY", "bad\nkey").env("IMAGEKILN_BASE_URL", "no url");
    crate::bench::Outcome::of(command.output().unwrap()).ok();
}

#[test]
fn generate_sends_only_the_given_fields() {
    let bench = Bench::new();
    let words =
        ["generate", "a red fox", "--seed", "-7", "--safety_tolerance", "0", "--disable-pup"];
    bench.run(&with(&words)).ok();
    assert_eq!(
        bench.last_request(),
        json!({
            "prompt": "a red fox",
            "seed": -7,
            "safety_tolerance": 0,
            "disable_pup": true,
            "width": 64,
            "height": 64,
        })
    );
}

#[test]
fn a_boolean_flag_does_not_consume_the_next_argument() {
    let bench = Bench::new();
    let small = ["--output", "x.jpg", "--aspect-ratio", "1:1"];
    let run = |words: &[&str]| bench.run(&[words, &small].concat()).ok();
    run(&["generate", "--model", "gen-pro-1.1-ultra", "--raw", "a fox"]);
    assert_eq!(
        (&bench.last_request()["raw"], &bench.last_request()["prompt"]),
        (&json!(true), &json!("a fox"))
    );
    run(&["generate", "--model", "gen-pro-1.1-ultra", "--raw", "false", "a fox"]);
    assert_eq!(bench.last_request()["raw"], json!(false));
    run(&["run", "gen-pro-1.1-ultra", "--raw=true"]);
    assert_eq!(bench.last_request()["raw"], json!(true));
}

#[test]
fn an_explicit_null_can_be_sent() {
    let bench = Bench::new();
    bench.run(&with(&["generate", "a fox", "--extra", "seed=null"])).ok();
    assert_eq!(bench.last_request().get("seed"), Some(&json!(null)));
    bench.run(&with(&["generate", "a fox", "--extra", "seed=1", "--seed", "2"])).fails(2);
}

#[test]
fn json_output_describes_the_picture() {
    let bench = Bench::new();
    let outcome = bench.run(&with(&["--json", "generate", "a fox", "--output", "fox.png"])).ok();
    let result = outcome.json();
    let id = bench.simulator.tasks()[0].id.clone();
    let polling_url = format!("{}/v1/get_result?id={id}", bench.simulator.base_url());
    let task = json!({
        "id": id, "polling_url": polling_url, "operation": "gen-2-pro", "region": "global",
        "cost": result["task"]["cost"], "submitted_at": result["task"]["submitted_at"],
        "submission": result["task"]["submission"], "input_mp": 0.0, "output_mp": 0.0,
    });
    let bytes = bench.place.read("fox.png").len();
    let picture = json!({
        "task": task, "seed": bench.last_request()["seed"], "path": "fox.png", "kind": "png",
        "width": 64, "height": 64, "bytes": bytes, "difference": null,
    });
    assert_eq!(result, picture);
    assert!(result["seed"].is_u64());
    assert!(result["task"]["cost"].is_number() && result["task"]["submitted_at"].is_number());
    assert_eq!(outcome.events(), [json!({ "event": "submitted", "task": task })]);
}

#[test]
fn a_model_without_listed_fields_receives_the_prompt() {
    let bench = Bench::new();
    let words = [
        "generate",
        "a fox",
        "--model",
        "gen-2-klein-4b",
        "--extra",
        "width=64",
        "--extra",
        "height=64",
    ];
    bench.run(&words).ok();
    assert_eq!(bench.last_request()["prompt"], "a fox");
}

#[test]
fn edit_sets_the_image_fields_in_order() {
    let bench = Bench::new();
    for (name, side) in [("one.png", 64), ("two.png", 80)] {
        bench.place.write(name, png(side, side));
    }
    bench.run(&with(&["edit", "both", "one.png", "two.png", "https://example.com/three.png"])).ok();
    let request = bench.last_request();
    assert!(request["input_image"].as_str().unwrap().contains("64 x 64"), "{request}");
    assert!(request["input_image_2"].as_str().unwrap().contains("80 x 80"), "{request}");
    assert!(request["input_image_3"].as_str().unwrap().contains("example.com"), "{request}");
    assert_eq!(request["prompt"], "both");

    bench
        .run(&[
            "edit",
            "as a drawing",
            "one.png",
            "--model",
            "gen-dev",
            "--width",
            "256",
            "--height",
            "256",
        ])
        .ok();
    assert!(bench.last_request()["image_prompt"].as_str().unwrap().contains("64 x 64"));
    bench
        .run(&["edit", "a hat", "one.png", "--model", "gen-pro-1.0-fill", "--mask", "one.png"])
        .ok();
    let request = bench.last_request();
    assert!(request["image"].is_string() && request["mask"].is_string(), "{request}");
}

#[test]
fn the_cost_is_printed_with_the_task_and_with_the_picture() {
    let bench = Bench::new();
    let outcome = bench.run(&with(&["generate", "a fox"])).ok();
    let id = bench.simulator.tasks()[0].id.clone();
    let path = outcome.text();
    assert_eq!(
        outcome.stderr,
        format!(
            "submitted task {id} to gen-2-pro (3 credits)\n\
             saved {}: JPEG, 64 x 64 pixels, 2 kB, 3 credits\n",
            path.trim_end()
        )
    );
    let quiet = bench.run(&with(&["generate", "a fox", "--quiet"])).ok();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn verbose_logs_the_steps_without_secrets() {
    let bench = Bench::new();
    let secrets = ["--webhook-secret", "HUSH", "--webhook-url", "https://example.com/?token=HUSH"];
    for json in [&[][..], &["--json"]] {
        let words = [&with(&["-vv", "generate", "a fox"])[..], &secrets, json].concat();
        let outcome = bench.run(&words).ok();
        assert!(
            outcome.stderr.contains("accepted") && outcome.stderr.contains("polled"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains("saved"), "{}", outcome.stderr);
        for secret in ["HUSH", bench.simulator.api_key(), "signature="] {
            assert!(!outcome.stderr.contains(secret), "{secret}: {}", outcome.stderr);
        }
        for line in outcome.stderr.lines() {
            assert!(
                ["imagekiln::", "submitted", "saved", "webhook secret among the arguments"]
                    .iter()
                    .any(|ours| line.contains(ours)),
                "an event of another crate: {line}"
            );
        }
        if !json.is_empty() {
            outcome.events();
        }
    }
}

#[test]
fn a_task_is_not_lost_at_the_deadline() {
    let bench = Bench::ready_after(AGES);
    let outcome = bench.run(&with(&[
        "generate",
        "a fox",
        "--deadline",
        "1",
        "--output",
        "fox.png",
        "--json",
    ]));
    let outcome = outcome.fails(6);
    let error = outcome.error();
    assert_eq!((&error["kind"], &error["exit_code"]), (&json!("deadline"), &json!(6)));
    assert_eq!(error["task"]["id"], bench.simulator.tasks()[0].id);
    bench.simulator.clock().advance(AGES);
    bench.shell(error["resume"].as_str().unwrap()).ok();
    assert_eq!(kind_of(&bench.place.read("fox.png")), ImageFormat::Png);
    assert_eq!(bench.simulator.counts().accepted, 1);
}
