//! Organizations, projects, keys, and their access.

use serde_json::json;

use super::bench::{Bench, small};
use imagekiln_simulator::{Config, Credits, Limits, Simulator, StartError};

/// Two organizations: `Acme` with two projects, and the implicit Default.
fn acme() -> Config {
    Config::from_toml(
        r#"
        api_keys = ["old-key"]

        [[organizations]]
        name = "Acme Labs"
        owner = "ada"
        credits = 100
        finetunes = [{ name = "private-style" }, { name = "house-style", shared = true }]

        [[organizations.projects]]
        name = "Web"
        keys = [{ name = "ci", key = "web-key" }, { name = "ann", key = "web-key-2" }]
        endpoints = ["gen-2-*", "gen-pro-1.1-ultra-finetuned"]

        [[organizations.projects]]
        name = "Batch"
        keys = [{ name = "nightly", key = "batch-key" }]
        limits = { daily = 8.5 }
        max_active_tasks = 2
        "#,
    )
    .unwrap()
}

#[tokio::test]
async fn keys_belong_to_projects_and_legacy_keys_to_default() {
    let bench = Bench::with(acme()).await;
    for (key, organization, project) in [
        ("old-key", "default", "default"),
        ("web-key", "acme-labs", "web"),
        ("web-key-2", "acme-labs", "web"),
        ("batch-key", "acme-labs", "batch"),
    ] {
        let response = bench.post_as(key, "/v1/gen-2-pro", &small("x")).await.json();
        let view = bench.view(&response);
        assert_eq!(
            (view.organization.as_str(), view.project.as_str()),
            (organization, project),
            "{key}"
        );
    }
    assert_eq!(
        bench.post_as("imagekiln-simulator-key", "/v1/gen-2-pro", &small("x")).await.status,
        403
    );
    let organizations = bench.sim.organizations();
    let names: Vec<_> =
        organizations.iter().map(|organization| organization.name.as_str()).collect();
    assert_eq!(names, ["Acme Labs", "Default"]);
    let shown = format!("{organizations:?} {:?}", acme());
    for key in ["old-key", "web-key", "batch-key"] {
        assert!(!shown.contains(key), "{shown}");
    }
}

#[tokio::test]
async fn a_masked_key_shows_at_most_a_third_and_four_characters() {
    let shown = [
        ("ab", "…"),
        ("abc", "…c"),
        ("team-a", "…-a"),
        ("team-b", "…-b"),
        ("0123456789a", "…89a"),
        ("0123456789ab", "…89ab"),
        ("imagekiln-simulator-key", "…-key"),
    ];
    let api_keys = shown.iter().map(|(key, _)| (*key).into()).collect();
    let bench = Bench::with(Config { api_keys, ..Config::default() }).await;
    let keys = &bench.sim.organizations()[0].projects[0].keys;
    let masked: Vec<_> = keys.iter().map(|key| key.masked.as_str()).collect();
    assert_eq!(masked, shown.map(|(_, masked)| masked));
}

#[tokio::test]
async fn a_task_is_known_only_to_its_project() {
    let bench = Bench::with(acme()).await;
    let task = bench.post_as("web-key", "/v1/gen-2-pro", &small("x")).await.json();
    let poll = async |key: &str| {
        let url = task["polling_url"].as_str().unwrap();
        bench.send("GET", url, &[("x-key", key)], "").await.json()
    };
    assert_eq!(poll("web-key-2").await["status"], "Pending", "another key of the project");
    for stranger in ["batch-key", "old-key"] {
        assert_eq!(poll(stranger).await, json!({ "id": task["id"], "status": "Task not found" }));
    }
}

#[tokio::test]
async fn a_project_has_access_only_to_its_endpoints() {
    let bench = Bench::with(acme()).await;
    for path in ["/v1/gen-2-pro", "/v1/gen-2-klein-4b"] {
        assert_eq!(bench.post_as("web-key", path, &small("x")).await.status, 200, "{path}");
        assert_eq!(bench.post_as("batch-key", path, &small("x")).await.status, 200, "{path}");
    }
    let refused = bench.post_as("web-key", "/v1/gen-dev", &json!({ "prompt": "x" })).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.json(), json!({ "detail": "The project has no access to this endpoint" }));
    // Access is checked before the body, which reveals nothing about the endpoint.
    assert_eq!(bench.post_as("web-key", "/v1/gen-dev", &json!({})).await.status, 403);
    assert_eq!(bench.sim.counts().accepted, 4);
}

#[tokio::test]
async fn a_project_can_use_finetunes_of_its_organization_and_shared_ones() {
    let bench = Bench::with(acme()).await;
    let path = "/v1/gen-pro-1.1-ultra-finetuned";
    for (key, finetune, known) in [
        ("web-key", "private-style", true),
        ("web-key", "acme-labs/private-style", true),
        ("web-key", "default/fox-style", true),
        ("web-key", "fox-style", false),
        ("web-key", "nobody/fox-style", false),
        ("web-key", "", false),
        ("web-key", "/", false),
        ("old-key", "fox-style", true),
        ("old-key", "acme-labs/house-style", true),
        ("old-key", "acme-labs/private-style", false),
        ("old-key", "house-style", false),
    ] {
        let response =
            bench.post_as(key, path, &json!({ "finetune_id": finetune, "prompt": "x" })).await;
        if known {
            assert_eq!(response.status, 200, "{finetune} by {key}");
        } else {
            let found = response.violations();
            assert_eq!(found, ["body.finetune_id value_error"], "{finetune} by {key}");
        }
    }
    // Even if the contract lists the field for a family of endpoints.
    let family = "/v1/gen-2-klein-9b-kv-finetuned";
    let response = bench
        .post_as("old-key", family, &json!({ "prompt": "x", "finetune_id": "unheard-of" }))
        .await;
    assert_eq!(response.status, 422);
}

#[tokio::test]
async fn invalid_accounts_are_rejected() {
    let project = |projects: &str| format!("{{ name = 'Acme', projects = [{projects}] }}");
    let keys = |keys: &str| project(&format!("{{ name = 'Web', keys = [{keys}] }}"));
    for (organizations, part) in [
        ("{ name = '?!' }".to_owned(), "must contain a letter"),
        ("{ name = 'Acme' }, { name = 'ACME' }".to_owned(), "is already taken"),
        (project("{ name = '' }"), "must contain a letter"),
        (project("{ name = 'Web' }, { name = 'web' }"), "more than once"),
        (keys("{ name = 'a', key = 's e c r e t' }"), "`a` must consist of visible"),
        (keys("{ name = 'a', key = 'secret' }, { name = 'b', key = 'secret' }"), "more than once"),
        ("{ name = 'Acme', finetunes = [{ name = 'a/b' }] }".to_owned(), "slash"),
        (
            concat!(
                "{ name = 'Acme', members = [",
                "{ user = 'bob', role = 'viewer', projects = { web = 'viewer' } }] }",
            )
            .to_owned(),
            "the unknown project `web`",
        ),
    ] {
        let config = Config::from_toml(&format!("organizations = [{organizations}]")).unwrap();
        let error = Simulator::start(config).await.unwrap_err();
        assert!(matches!(error, StartError::Setting { setting: "organizations", .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(part) && !text.contains("secret") && !text.contains("s e c"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn spending_is_counted_per_project() {
    let bench = Bench::with(acme()).await;
    bench.post_as("web-key", "/v1/gen-2-pro", &small("x")).await;
    bench.post_as("batch-key", "/v1/gen-2-pro", &small("x")).await;
    bench.post_as("web-key", "/v1/gen-2-pro", &small("x")).await;
    let organizations = bench.sim.organizations();
    let acme = organizations.iter().find(|organization| &*organization.id == "acme-labs").unwrap();
    // A picture of 64 x 64 pixels is 0.00 megapixels.
    let cost = |tasks: u64| Credits::from_hundredths(300 * tasks);
    assert_eq!(acme.balance, Credits::from_hundredths(10_000 - 900));
    for (id, tasks) in [("web", 2), ("batch", 1)] {
        let project = acme.projects.iter().find(|project| &*project.id == id).unwrap();
        assert_eq!(
            [project.spent.daily, project.spent.weekly, project.spent.monthly],
            [cost(tasks); 3]
        );
        assert_eq!((project.usage.submissions, project.usage.charged), (tasks, cost(tasks)));
        assert_eq!(project.active_tasks as u64, tasks);
    }
    let batch = acme.projects.iter().find(|project| &*project.id == "batch").unwrap();
    assert_eq!(
        batch.limits,
        Limits { daily: Some(Credits::from_hundredths(850)), ..Limits::default() }
    );
    assert_eq!(batch.max_active_tasks, Some(2));
}
