//! Pictures that are paid for and whose delivery is damaged, or not what was asked for.

use std::fs;

use serde_json::{Value, json};

use crate::{
    batch::{
        ledgers::{batch, named},
        runs::run,
    },
    bench::Bench,
};

const DAMAGED: &str = "a fox [[damaged:always]]";

fn state(bench: &Bench) -> Value {
    bench.run("history --json --limit 1").ok().json()["state"].clone()
}

#[test]
fn what_arrived_is_kept_and_can_be_accepted() {
    let bench = Bench::new();
    let path = |name: &str| bench.place.path(name);
    let error = bench.run(&["generate", DAMAGED, "-o", "fox.jpg", "--json"]).fails(6).error();
    assert_eq!((&error["kind"], &error["kept"]), (&"damaged".into(), &"fox.jpg.damaged".into()));
    let kept = fs::read(path("fox.jpg.damaged")).unwrap();
    assert!(!path("fox.jpg").exists());
    assert_eq!(state(&bench), "damaged");
    bench.run("resume").fails(6).says("kiln task save @1 --damaged");

    fs::write(path("fox.jpg"), "another file").unwrap();
    let accepted = bench.run("task save @1 --damaged").ok();
    assert_eq!(accepted.text(), "fox-2.jpg\n");
    assert_eq!(fs::read(path("fox-2.jpg")).unwrap(), kept);
    assert!(!path("fox.jpg.damaged").exists());
    assert_eq!((state(&bench), bench.simulator.counts().accepted), ("saved".into(), 1));
    bench.run("task save @1 --damaged").fails(2);
}

#[test]
fn a_damaged_picture_is_downloaded_again_or_given_up() {
    let bench = Bench::new();
    bench.simulator.faults().add("truncated:4x").unwrap();
    bench.run("generate 'a fox' -o a/fox.jpg --mkdir").fails(6);
    assert!(bench.place.path("a/fox.jpg.damaged").exists());
    bench.run("resume").ok();
    assert_eq!((state(&bench), bench.simulator.counts().accepted), ("saved".into(), 1));

    bench.run(&["generate", DAMAGED]).fails(6);
    bench.run("task dismiss @2").ok();
    assert_eq!(state(&bench), "dismissed");
}

#[test]
fn a_damaged_job_does_not_stop_a_batch() {
    let bench = Bench::new();
    run(&bench, &["a wolf", DAMAGED, "an owl", "a hare"], &[])
        .fails(6)
        .says("1 of 4 jobs is not saved: 1 damaged");
    let [fox] = named(&bench, "damaged").try_into().unwrap();
    let status = batch(&bench, "status").ok().text();
    for part in [".damaged: could not fetch", "kiln batch resolve NAME --damaged"] {
        assert!(status.contains(part), "{status}");
    }
    batch(&bench, &["jobs", "retry", &fox]).ok();
    assert_eq!(named(&bench, "submitted"), [&*fox]);
    bench.run("batch run --output pictures").fails(6);
    assert_eq!(bench.simulator.counts().accepted, 4);
    let accepted = batch(&bench, &["resolve", &fox, "--damaged", "--json"]).ok().json();
    assert_eq!(accepted["names"]["resolved"], json!([fox]));
    let saved = batch(&bench, "status --state saved --json").ok().json();
    let is_fox = |job: &&Value| job["name"] == fox.as_str();
    let saved = saved["listed"].as_array().unwrap().iter().find(is_fox).unwrap();
    assert!(fs::exists(saved["location"].as_str().unwrap()).unwrap());

    run(&bench, &["another fox [[damaged:always]]"], &[]).fails(6);
    let [fox] = named(&bench, "damaged").try_into().unwrap();
    batch(&bench, &["resolve", &fox, "--paid"]).ok();
    assert_eq!(named(&bench, "failed"), [fox]);
}

#[test]
fn a_picture_of_another_size_or_format_is_saved_and_named() {
    let bench = Bench::new();
    for (fault, single, of_batch) in [
        ("wrong-size", "64 x 80 pixels instead of 256 x 192", "64 x 80 pixels instead of 64 x 64"),
        (
            "wrong-kind",
            "PNG instead of jpeg, 64 x 64 pixels instead of 256 x 192",
            "PNG instead of jpeg",
        ),
    ] {
        let prompt = format!("a fox [[{fault}]]");
        let words = ["generate", &prompt, "--size", "256x192", "--output-format", "jpeg"];
        bench.run(&words).ok().says(single);
        let picture = bench.run(&[&words[..], &["--json"]].concat()).ok().json();
        assert_eq!(picture["difference"], single);
        run(&bench, &[&prompt], &["--output-format", "jpeg"]).ok();
        let status = batch(&bench, "status --all --json").ok().json();
        let jobs = status["listed"].as_array().unwrap();
        let reason = format!("the picture is {of_batch}");
        assert!(jobs.iter().any(|job| job["reason"] == reason.as_str()), "{jobs:?}");
    }
    let fine = bench.run("generate 'a fox' --size 256x192 --json").ok();
    assert_eq!(
        (&fine.json()["difference"], fine.stderr.contains("instead of")),
        (&Value::Null, false)
    );
}
