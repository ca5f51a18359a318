//! `run`, `generate` and `edit`: the requests and the output.

use serde_json::{Value, json};

use crate::bench::{Bench, Place, png, small};

#[test]
fn the_first_command_makes_a_picture_without_any_setting() {
    let place = Place::new();
    let line = "--simulate generate 'a red fox in the snow' --width 1024 --height 768 --seed 7 \
                --output fox.png";
    let outcome = place.run(line).ok();
    assert_eq!(outcome.text(), "fox.png\n");
    let shown = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fox.png")).unwrap();
    let command = format!("cargo kiln {}", line.replace('\'', "\""));
    assert!(imagekiln_testbed::page("README.md").contains(&command), "{command}");
    assert!(place.read("fox.png") == shown, "run `{command} --overwrite` for docs/fox.png");
    assert_eq!(place.files(), ["fox.png"]);
}

#[test]
fn generate_sends_only_the_given_fields() {
    let bench = Bench::new();
    let words =
        ["generate", "a red fox", "--seed", "-7", "--safety_tolerance", "0", "--disable-pup"];
    bench.run(&small(&words)).ok();
    let sent = json!({
        "prompt": "a red fox", "seed": -7, "safety_tolerance": 0, "disable_pup": true,
        "width": 64, "height": 64,
    });
    assert_eq!(bench.last_request(), sent);
}

#[test]
fn a_boolean_flag_does_not_consume_the_next_argument() {
    let bench = Bench::new();
    for (line, raw, prompt) in [
        ("generate --model gen-pro-1.1-ultra --raw 'a fox'", true, json!("a fox")),
        ("generate --model gen-pro-1.1-ultra --raw false 'a fox'", false, json!("a fox")),
        ("run gen-pro-1.1-ultra --raw=true", true, Value::Null),
    ] {
        bench.run(&format!("{line} --output x.jpg --aspect-ratio 1:1")).ok();
        let request = bench.last_request();
        assert_eq!((&request["raw"], &request["prompt"]), (&json!(raw), &prompt), "{line}");
    }
}

#[test]
fn an_explicit_null_can_be_sent() {
    let bench = Bench::new();
    bench.run(&small(&["generate", "a fox", "--extra", "seed=null"])).ok();
    assert_eq!(bench.last_request().get("seed"), Some(&json!(null)));
    bench.run(&small(&["generate", "a fox", "--extra", "seed=1", "--seed", "2"])).fails(2);
}

#[test]
fn json_output_describes_the_picture() {
    let bench = Bench::new();
    let outcome = bench.run(&small(&["--json", "generate", "a fox", "--output", "fox.png"])).ok();
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
    bench.run("generate 'a fox' -m gen-2-klein-4b --extra width=64 --extra height=64").ok();
    assert_eq!(bench.last_request()["prompt"], "a fox");
}

#[test]
fn edit_sets_the_image_fields_in_order() {
    let bench = Bench::new();
    for (name, side) in [("one.png", 64), ("two.png", 80)] {
        bench.place.write(name, png(side, side));
    }
    bench
        .run(&small(&["edit", "both", "one.png", "two.png", "https://example.com/three.png"]))
        .ok();
    let request = bench.last_request();
    assert!(request["input_image"].as_str().unwrap().contains("64 x 64"), "{request}");
    assert!(request["input_image_2"].as_str().unwrap().contains("80 x 80"), "{request}");
    assert!(request["input_image_3"].as_str().unwrap().contains("example.com"), "{request}");
    assert_eq!(request["prompt"], "both");

    bench.run("edit 'as a drawing' one.png --model gen-dev --width 256 --height 256").ok();
    assert!(bench.last_request()["image_prompt"].as_str().unwrap().contains("64 x 64"));
    bench.run("edit 'a hat' one.png --model gen-pro-1.0-fill --mask one.png").ok();
    let request = bench.last_request();
    assert!(request["image"].is_string() && request["mask"].is_string(), "{request}");
}

#[test]
fn the_cost_is_printed_with_the_task_and_with_the_picture() {
    let bench = Bench::new();
    let outcome = bench.run(&small(&["generate", "a fox"])).ok();
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
    let quiet = bench.run(&small(&["generate", "a fox", "--quiet"])).ok();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn verbose_logs_the_steps_without_secrets() {
    let bench = Bench::new();
    let secrets = ["--webhook-secret", "HUSH", "--webhook-url", "https://example.com/?token=HUSH"];
    for json in [&[][..], &["--json"]] {
        let words = [&small(&["-vv", "generate", "a fox"])[..], &secrets, json].concat();
        let outcome = bench.run(&words).ok();
        for step in ["accepted", "polled", "saved"] {
            assert!(outcome.stderr.contains(step), "{step}: {}", outcome.stderr);
        }
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
