//! `run`, `generate` and `edit`: what is asked for, and where the picture goes.

use image::ImageFormat;
use serde_json::json;

use crate::bench::{AGES, Bench, Place, kind_of, png};

const SMALL: [&str; 4] = ["--width", "64", "--height", "64"];

fn with<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().chain(&SMALL).copied().collect()
}

#[test]
fn the_first_command_makes_a_picture_without_any_setting() {
    let place = Place::new();
    let words = [
        "--simulate",
        "generate",
        "a red fox in the snow",
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
    let picture = image::load_from_memory(&place.read("fox.png")).unwrap();
    assert_eq!((picture.width(), picture.height()), (1024, 768));
    assert_eq!(kind_of(&place.read("fox.png")), ImageFormat::Png);
    assert_eq!(place.files(), ["fox.png"]);
}

#[test]
fn the_simulated_command_ignores_the_environment() {
    let place = Place::new();
    let mut command =
        place.kiln(&with(&["--simulate", "generate", "a fox", "--output", "fox.png"]));
    command.env("IMAGEKILN_API_KEY", "bad\nkey").env("IMAGEKILN_BASE_URL", "no url");
    crate::bench::Outcome::of(command.output().unwrap()).ok();
}

#[test]
fn generate_sends_what_is_given_and_nothing_else() {
    let bench = Bench::new();
    let words =
        ["generate", "a red fox", "--seed", "-7", "--safety_tolerance", "0", "--disable-pup"];
    bench.run(&with(&words)).ok();
    assert_eq!(
        bench.last_request(),
        json!({ "prompt": "a red fox", "seed": -7, "safety_tolerance": 0, "disable_pup": true, "width": 64, "height": 64 })
    );
}

#[test]
fn a_boolean_does_not_swallow_what_follows() {
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
fn the_format_follows_the_ending() {
    let bench = Bench::new();
    for (file, kind, sent) in [
        ("a.png", ImageFormat::Png, json!("png")),
        ("a.JPG", ImageFormat::Jpeg, json!("jpeg")),
        ("a.webp", ImageFormat::WebP, json!("webp")),
        ("a.unknown", ImageFormat::Jpeg, json!(null)),
        ("plain", ImageFormat::Jpeg, json!(null)),
    ] {
        let outcome = bench.run(&with(&["generate", "a fox", "--output", file])).ok();
        assert_eq!(kind_of(&bench.place.read(file)), kind, "{file}");
        assert_eq!(bench.last_request()["output_format"], sent, "{file}");
        assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
    }
}

#[test]
fn a_format_that_was_given_wins_over_the_ending() {
    let bench = Bench::new();
    for given in [["--output-format", "webp"], ["--extra", "output_format=webp"]] {
        let outcome =
            bench.run(&with(&["generate", "a fox", "--output", "a.png", given[0], given[1]])).ok();
        assert_eq!(kind_of(&bench.place.read("a.png")), ImageFormat::WebP);
        assert!(
            outcome.stderr.contains("warning: the file's ending asks for png"),
            "{}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains("warning: the file's ending does not fit: what came is WebP")
        );
    }
    let quiet = bench
        .run(&with(&["generate", "a fox", "-o", "a.png", "--output-format", "webp", "--quiet"]))
        .ok();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_model_without_the_field_is_asked_for_no_format() {
    let bench = Bench::new();
    let words = [
        "run",
        "gen-2-klein-4b",
        "--extra",
        "width=64",
        "--extra",
        "height=64",
        "--output",
        "a.png",
    ];
    let outcome = bench.run(&words).ok();
    assert_eq!(bench.last_request(), json!({ "width": 64, "height": 64 }));
    assert!(outcome.stderr.contains("does not fit: what came is JPEG"), "{}", outcome.stderr);
}

#[test]
fn a_picture_without_a_name_is_named_after_model_task_and_kind() {
    let bench = Bench::new();
    let outcome = bench.run(&with(&["generate", "a fox"])).ok();
    let id = bench.simulator.tasks()[0].id.clone();
    assert_eq!(outcome.text(), format!("gen-2-pro-{}.jpg\n", &id[..8]));
    assert_eq!(kind_of(&bench.place.read(outcome.text().trim())), ImageFormat::Jpeg);
    // The same task once more: what has the name keeps it.
    let second = bench.run(&["task", "save", &id]).ok();
    assert_eq!(second.text(), format!("picture-{}.jpg\n", &id[..8]));
    let third = bench.run(&["task", "save", &id]).ok();
    assert_eq!(third.text(), format!("picture-{id}.jpg\n"));
    assert_eq!(bench.place.files().len(), 3);
}

#[test]
fn a_directory_takes_the_picture_under_that_name() {
    let bench = Bench::new();
    std::fs::create_dir(bench.place.path("pictures")).unwrap();
    let outcome = bench
        .run(&with(&["generate", "a fox", "--output", "pictures", "--output-format", "png"]))
        .ok();
    assert!(
        outcome.text().starts_with("pictures/gen-2-pro-") && outcome.text().ends_with(".png\n")
    );
    bench.place.read(outcome.text().trim());
}

#[test]
fn an_existing_file_is_replaced() {
    let bench = Bench::new();
    bench.place.write("fox.png", "what stood here");
    bench.run(&with(&["generate", "a fox", "--output", "fox.png"])).ok();
    assert_eq!(kind_of(&bench.place.read("fox.png")), ImageFormat::Png);
}

#[test]
fn standard_output_takes_the_picture_and_nothing_else() {
    let bench = Bench::new();
    let outcome =
        bench.run(&with(&["generate", "a fox", "--output", "-", "--output-format", "png"])).ok();
    image::load_from_memory_with_format(&outcome.stdout, ImageFormat::Png).unwrap();
    assert_eq!(bench.place.files(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_written_into_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let bench = Bench::new();
    // Held open for both directions, so that neither side waits for the other; the picture fits
    // into the pipe.
    let make = "kiln generate 'a fox' --width 64 --height 64 --output pipe";
    bench
        .shell(&format!("mkfifo pipe; exec 3<>pipe; {make}; test -p pipe; head -c 100 <&3 > head"))
        .ok();
    assert_eq!(kind_of(&bench.place.read("head")), ImageFormat::Jpeg);
    assert!(std::fs::metadata(bench.place.path("pipe")).unwrap().file_type().is_fifo());
}

#[test]
fn what_can_not_be_written_is_found_before_anything_is_paid() {
    let bench = Bench::new();
    bench.place.write("a-file", "");
    for output in ["nowhere/fox.png", "a-file/fox.png", "new/"] {
        let outcome = bench.run(&with(&["generate", "a fox", "--output", output]));
        assert!([1, 2].contains(&outcome.code), "{output}: {outcome:?}");
        assert!(outcome.stderr.contains("nothing was sent"), "{output}: {}", outcome.stderr);
    }
    assert_eq!(bench.simulator.counts(), Default::default());
}

#[test]
fn programs_get_json() {
    let bench = Bench::new();
    let outcome = bench.run(&with(&["--json", "generate", "a fox", "--output", "fox.png"])).ok();
    let result = outcome.json();
    let id = bench.simulator.tasks()[0].id.clone();
    let polling_url = format!("{}/v1/get_result?id={id}", bench.simulator.base_url());
    let task = json!({
        "id": id, "polling_url": polling_url, "operation": "gen-2-pro",
        "cost": result["task"]["cost"], "input_mp": 0.0, "output_mp": 0.0,
    });
    let bytes = bench.place.read("fox.png").len();
    assert_eq!(result, json!({ "task": task, "path": "fox.png", "kind": "png", "bytes": bytes }));
    assert!(result["task"]["cost"].is_number());
    assert_eq!(outcome.events(), [json!({ "event": "submitted", "task": task })]);
}

#[test]
fn a_model_whose_fields_are_not_shown_gets_the_prompt() {
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
fn edit_fills_the_image_fields_in_their_order() {
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
fn the_cost_is_told_as_soon_as_it_is_paid() {
    let bench = Bench::new();
    let outcome = bench.run(&with(&["generate", "a fox"])).ok();
    let id = bench.simulator.tasks()[0].id.clone();
    assert_eq!(outcome.stderr, format!("submitted task {id} to gen-2-pro (3 credits)\n"));
}

#[test]
fn verbose_tells_the_steps_without_secrets() {
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
                line.contains("imagekiln::") || line.contains("submitted"),
                "an event of another crate: {line}"
            );
        }
        if !json.is_empty() {
            outcome.events();
        }
    }
}

#[test]
fn the_deadline_holds_and_the_task_is_not_lost() {
    let bench = Bench::ready_after(AGES);
    let outcome = bench.run(&with(&[
        "generate",
        "a fox",
        "--deadline",
        "0.1",
        "--output",
        "fox.png",
        "--json",
    ]));
    let outcome = outcome.fails(6);
    let error = outcome.error();
    assert_eq!((&error["kind"], &error["exit_code"]), (&json!("deadline"), &json!(6)));
    assert_eq!(error["task"]["id"], bench.simulator.tasks()[0].id);
    bench.simulator.clock().advance(AGES);
    bench.shell(error["take_up"].as_str().unwrap()).ok();
    assert_eq!(kind_of(&bench.place.read("fox.png")), ImageFormat::Png);
    assert_eq!(bench.simulator.counts().accepted, 1);
}
