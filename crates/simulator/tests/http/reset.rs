//! Resets, of everything and of one project.

use std::time::Duration;

use serde_json::{Value, json};

use imagekiln_simulator::Config;

use super::bench::Bench;

const PATH: &str = "/v1/gen-2-pro";

fn request() -> Value {
    json!({ "prompt": "a fox", "webhook_url": "http://127.0.0.1:9/hook" })
}

#[tokio::test]
async fn a_reset_returns_to_the_state_after_the_start() {
    let config = Config {
        faults: vec!["html-502@submission:once".to_owned()],
        ready_after: Duration::from_secs(3600),
        ..Config::default()
    };
    let bench = Bench::with(config).await;
    let first = async || {
        assert_eq!(bench.post(PATH, &request()).await.status, 502);
        bench.submit(PATH, &request()).await
    };
    let task = first().await;
    bench.poll(&task).await;
    bench.sim.faults().add("slow-body").unwrap();
    bench.sim.clock().set_speed(60.0);
    let before = bench.sim.organizations();

    bench.change("POST", "/api/reset", json!({})).await;
    assert_eq!(bench.sim.counts(), Default::default());
    assert!(bench.sim.tasks().is_empty() && bench.sim.webhooks().is_empty());
    assert!(bench.sim.requests().is_empty());
    assert_eq!(bench.sim.faults().rules().len(), 1);
    assert_eq!(bench.sim.clock().speed(), 1.0);
    let after = bench.sim.organizations();
    assert!(after[0].balance > before[0].balance);
    assert_eq!(after[0].projects[0].usage.submissions, 0);
    assert_eq!(bench.poll(&task).await["status"], "Task not found");

    assert_eq!(first().await["id"], task["id"], "the same requests get the same ids");
}

#[tokio::test]
async fn one_project_is_reset() {
    let config = Config::from_toml(
        "[[organizations]]
         name = 'Acme'
         [[organizations.projects]]
         name = 'one'
         keys = [{ name = 'ci', key = 'key-of-one' }]
         [[organizations.projects]]
         name = 'two'
         keys = [{ name = 'ci', key = 'key-of-two' }]",
    );
    let bench = Bench::with(config.unwrap()).await;
    let mut tasks = Vec::new();
    for key in ["key-of-one", "key-of-two"] {
        let response = bench.post_as(key, PATH, &request()).await;
        tasks.push(response.json()["id"].as_str().unwrap().to_owned());
    }
    let scope = json!({ "organization": "acme", "project": "one" });
    bench.change("POST", "/api/reset", scope).await;
    let left: Vec<_> = bench.sim.tasks().into_iter().map(|task| task.id).collect();
    assert_eq!(left, tasks[1..]);
    let webhooks = bench.sim.webhooks();
    assert!(webhooks.iter().all(|webhook| webhook.task == tasks[1]) && !webhooks.is_empty());
    let requests = bench.sim.requests();
    assert!(requests.iter().all(|request| request.project.as_deref() == Some("two")));
    let acme = &bench.sim.organizations()[0];
    let submissions = acme.projects.iter().map(|project| project.usage.submissions);
    assert_eq!(submissions.collect::<Vec<_>>(), [0, 1]);

    for (wrong, status) in [
        (json!({ "organization": "acme" }), 422),
        (json!({ "organization": "acme", "project": "three" }), 404),
        (json!({ "everything": true }), 422),
    ] {
        let response = bench.control("POST", "/api/reset", Some(wrong)).await;
        assert_eq!(response.status, status, "{response:?}");
    }
}
