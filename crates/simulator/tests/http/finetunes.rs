//! `/v1/finetune` trains a finetune.

use std::time::Duration;

use serde_json::{Value, json};

use super::{bench::Bench, contract::submissions};

const PATH: &str = "/v1/finetune";
const MY_STYLE: &str = "/api/organizations/default/finetunes/my-style";

/// The finetunes of the organization Default.
async fn listed(bench: &Bench) -> Vec<String> {
    let organization = bench.show("/api/organizations/default").await;
    let finetunes = organization["finetunes"].as_array().unwrap().iter();
    finetunes.map(|finetune| finetune["name"].as_str().unwrap().to_owned()).collect()
}

async fn use_of(bench: &Bench, name: &str) -> u16 {
    let body = json!({ "prompt": "x", "finetune_id": name });
    bench.post("/v1/gen-pro-1.1-ultra-finetuned", &body).await.status.as_u16()
}

#[tokio::test]
async fn a_trained_finetune_can_be_used_once_its_task_is_ready() {
    let bench = Bench::new().await;
    bench.sim.clock().set_speed(0.0);
    let task = bench.submit(PATH, &json!({ "name": "my-style" })).await;
    assert_eq!(
        (listed(&bench).await, use_of(&bench, "my-style").await),
        (vec!["fox-style".to_owned()], 422)
    );
    bench.sample(&task).await;
    assert_eq!(listed(&bench).await, ["fox-style", "my-style"]);
    assert_eq!(use_of(&bench, "my-style").await, 200);
    assert_eq!(use_of(&bench, "default/my-style").await, 200);
    let entry = &bench.show("/api/audit?limit=1").await["entries"][0];
    let action =
        format!("train the finetune `my-style` with the task {}", task["id"].as_str().unwrap());
    assert_eq!(entry["action"], action);
    assert_eq!(
        (&entry["actor"], &entry["organization"]),
        (&json!("a key of the project default"), &json!("default"))
    );

    bench.change("DELETE", MY_STYLE, json!({})).await;
    assert_eq!(use_of(&bench, "my-style").await, 422);
}

#[tokio::test]
async fn a_training_that_is_finished_early_adds_its_finetune_at_once() {
    let bench = Bench::new().await;
    bench.sim.clock().set_speed(0.0);
    let task = bench.submit(PATH, &json!({ "name": "my-style" })).await;
    let finish = format!("/api/tasks/{}/finish", task["id"].as_str().unwrap());
    bench.change("POST", &finish, json!({})).await;
    assert_eq!(use_of(&bench, "my-style").await, 200);
}

#[tokio::test]
async fn a_finetune_that_is_shared_during_its_training_is_usable_only_after_it() {
    let bench = Bench::new().await;
    bench.sim.clock().set_speed(0.0);
    let task = bench.submit(PATH, &json!({ "name": "my-style" })).await;
    bench.change("PUT", MY_STYLE, json!({ "shared": true })).await;
    assert_eq!(use_of(&bench, "my-style").await, 422);
    let saved = serde_json::from_slice::<Value>(&bench.sim.snapshot().to_json()).unwrap();
    let finetunes = &saved["records"]["accounts"]["organizations"]["default"]["finetunes"];
    let finetune = &finetunes["my-style"];
    let training = (&finetune["finetune"]["shared"], &finetune["trained_by"]);
    assert_eq!(training, (&json!(true), &task["id"]), "{finetune}");
    bench.sample(&task).await;
    assert_eq!(use_of(&bench, "my-style").await, 200);
}

#[tokio::test]
async fn operations_for_finetunes_need_one_that_the_project_has() {
    let bench = Bench::new().await;
    for submission in submissions() {
        let mut body = submission.minimal();
        body["finetune_id"] = json!("unheard-of");
        let response = bench.post(&submission.path, &body).await;
        if submission.operation_id.ends_with("_finetuned") {
            let expected = ["body.finetune_id value_error"];
            assert_eq!(response.violations(), expected, "{}", submission.path);
        } else {
            assert_eq!(response.status, 200, "{}", submission.path);
        }
    }
}

#[tokio::test]
async fn a_finetune_without_a_name_has_that_of_its_task() {
    let bench = Bench::new().await;
    let task = bench.submit(PATH, &json!({ "name": null })).await;
    bench.sample(&task).await;
    assert_eq!(use_of(&bench, task["id"].as_str().unwrap()).await, 200);
}

#[tokio::test]
async fn a_failed_task_adds_no_finetune() {
    let bench = Bench::new().await;
    bench.submit(PATH, &json!({ "name": "bad", "comment": "[[error]]" })).await;
    bench.submit("/v1/gen-2-klein-4b", &json!({ "prompt": "x", "name": "other" })).await;
    bench.sim.clock().advance(Duration::from_secs(1));
    assert_eq!(listed(&bench).await, ["fox-style"]);
}

#[tokio::test]
async fn invalid_names_are_rejected() {
    let bench = Bench::new().await;
    bench.submit(PATH, &json!({ "name": "taken" })).await;
    for (name, kind) in [
        (json!("taken"), "value_error"),
        (json!("fox-style"), "value_error"),
        (json!(""), "value_error"),
        (json!("a/b"), "value_error"),
        (json!("é".repeat(101)), "string_too_long"),
        (json!(7), "string_type"),
    ] {
        let found = bench.post(PATH, &json!({ "name": name })).await.violations();
        assert_eq!(found, [format!("body.name {kind}")], "{name}");
    }
    bench.submit(PATH, &json!({ "name": "é".repeat(100) })).await;
}
