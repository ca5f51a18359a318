//! `submit` and `task`: another process resumes a task.

use image::ImageFormat;
use serde_json::{Value, json};

use crate::bench::{AGES, Bench, kind_of};

pub const SUBMIT: [&str; 9] =
    ["task", "submit", "gen-2-pro", "--prompt", "a fox", "--width", "64", "--height", "64"];

#[test]
fn submit_prints_the_task_on_one_line() {
    let bench = Bench::new();
    for json in [&[][..], &["--json"]] {
        let outcome = bench.run(&[&SUBMIT[..], json].concat()).ok();
        assert_eq!(outcome.text().trim_end().lines().count(), 1);
        let task = outcome.json();
        let id = task["id"].as_str().unwrap();
        let polling_url = format!("{}/v1/get_result?id={id}", bench.simulator.base_url());
        let expected = json!({
            "id": id, "polling_url": polling_url, "operation": "gen-2-pro", "region": "global",
            "cost": 3.0, "submitted_at": task["submitted_at"],
            "submission": task["submission"], "input_mp": 0.0, "output_mp": 0.0,
            "seed": bench.last_request()["seed"],
        });
        assert_eq!(task, expected);
    }
    assert_eq!(bench.simulator.counts().polls, 0);
}

#[test]
fn the_task_goes_through_a_pipe() {
    let bench = Bench::new();
    let submit = "kiln task submit gen-2-pro --prompt 'a fox' --width 64 --height 64";
    bench.shell(&format!("{submit} | kiln task save - --output fox.jpg")).ok();
    assert_eq!(kind_of(&bench.place.read("fox.jpg")), ImageFormat::Jpeg);
    let counts = bench.simulator.counts();
    assert_eq!((counts.accepted, counts.delivered), (1, 1));
}

#[test]
fn a_task_is_named_by_file_json_or_id() {
    let bench = Bench::new();
    let line = bench.run(&SUBMIT).ok().text();
    let task: Value = serde_json::from_str(&line).unwrap();
    let id = task["id"].as_str().unwrap();
    bench.place.write("task.json", &line);
    bench.place.write("task.id", format!("{id}\n"));
    for reference in ["task.json", "task.id", line.trim(), id] {
        let outcome = bench.run(&["task", "status", reference]).ok();
        assert_eq!(outcome.text(), format!("{id}: Ready\n"), "{reference}");
    }
    let saved = bench.run("task save task.json --json").ok().json();
    assert_eq!(saved["task"]["submitted_at"], task["submitted_at"]);
    assert_eq!((&saved["task"]["id"], &saved["task"]["region"]), (&json!(id), &json!("global")));
    assert_eq!(
        (&saved["kind"], &saved["path"]),
        (&json!("jpeg"), &json!(format!("a-fox-{}.jpg", &id[..8])))
    );
}

#[test]
fn a_regional_task_is_found_by_its_reference() {
    let bench = Bench::new();
    let submit =
        "task submit gen-pro-1.1-ultra-finetuned --finetune-id fox-style --aspect-ratio 1:1";
    let line = bench.run(submit).ok().text();
    let status = |reference: &str| bench.run(&["task", "status", reference, "--json"]).ok().json();
    assert_eq!(status(line.trim())["status"], "Ready");
    let task: Value = serde_json::from_str(&line).unwrap();
    let id = task["id"].as_str().unwrap();
    assert_eq!(status(id)["status"], "Ready");
    // Without the reference and the history, the id is polled at the base URL, where it is unknown.
    std::fs::remove_dir_all(bench.place.history()).unwrap();
    assert_eq!(status(id)["status"], "Task not found");
}

#[test]
fn status_polls_once_and_prints_any_status() {
    let bench = Bench::ready_after(AGES);
    let id = bench.run(&SUBMIT).ok().json()["id"].as_str().unwrap().to_owned();
    assert_eq!(bench.run(&["task", "status", &id]).ok().text(), format!("{id}: Pending\n"));
    let output = bench.run(&["task", "status", &id, "--json"]).ok().json();
    assert_eq!(output, json!({ "id": id, "status": "Pending", "final": false }));
    assert_eq!(bench.simulator.counts().polls, 2);
    let unknown = bench.run("task status unheard-of").ok().text();
    assert_eq!(unknown, "unheard-of: Task not found\n");
}

#[test]
fn wait_ends_at_the_final_status() {
    let bench = Bench::new();
    let id = bench.run(&SUBMIT).ok().json()["id"].as_str().unwrap().to_owned();
    assert!(bench.run(&["task", "wait", &id]).ok().text().starts_with(&format!("{id}: Ready")));
    let output = bench.run(&["task", "wait", &id, "--json"]).ok().json();
    assert_eq!((&output["status"], &output["task"]["id"]), (&json!("Ready"), &json!(id)));
    let ten_minutes = bench.simulator.clock().unix_now().as_secs() + 600;
    assert!(
        (ten_minutes - 60..=ten_minutes).contains(&output["expires_at"].as_u64().unwrap()),
        "{output}"
    );
    bench.run("task wait unheard-of").fails(4);
    assert_eq!(bench.place.files(), [""; 0]);
}

#[test]
fn an_unwritable_target_is_reported_before_the_wait() {
    let bench = Bench::ready_after(AGES);
    let id = bench.run(&SUBMIT).ok().json()["id"].as_str().unwrap().to_owned();
    bench.run(&["task", "save", &id, "--output", "nowhere/fox.png"]).fails(6);
    assert_eq!(bench.simulator.counts().polls, 0);
}

#[test]
fn a_submission_to_an_in_process_simulator_warns_that_the_task_disappears() {
    let bench = Bench::new();
    let outcome = bench.place.run(&[&["--simulate"], &SUBMIT[..]].concat()).ok();
    let stderr = outcome.stderr;
    assert!(stderr.contains("disappears with the in-process simulator"), "{stderr}");
}
