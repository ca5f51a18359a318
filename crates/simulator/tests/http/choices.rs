//! Settings for what the interface leaves open, and names of operations in settings.

use serde_json::json;

use super::bench::{Bench, png};
use imagekiln_simulator::{Config, Simulator};

async fn bench(toml: &str) -> Bench {
    Bench::with(Config::from_toml(toml).unwrap()).await
}

#[tokio::test]
async fn a_megapixel_can_have_a_million_pixels() {
    let decimal = bench("pixels_per_megapixel = 1000000").await;
    let binary = Bench::new().await;
    let body = json!({ "prompt": "x", "width": 1000, "height": 1000 });
    for (bench, output_mp, cost) in [(&decimal, 1.0, 4.0), (&binary, 0.95, 3.95)] {
        let task = bench.submit("/v1/gen-2-pro", &body).await;
        assert_eq!((&task["output_mp"], &task["cost"]), (&json!(output_mp), &json!(cost)));
    }
    let image = png(2001, 2000);
    for (operation, body, loc) in [
        ("gen-tools/deblur-v1", json!({ "image": image }), "body.image"),
        ("gen-tools/vto-v2", json!({ "person": image }), "body.person"),
        ("gen-tools/outpainting-v1", json!({ "width": 2001, "height": 2000 }), "body"),
    ] {
        binary.submit(&format!("/v1/{operation}"), &body).await;
        decimal.assert_violations(operation, &body, &format!("{loc} value_error")).await;
    }
    let body = json!({ "person": png(1001, 2000) });
    for (bench, width) in [(&binary, 1001), (&decimal, 707)] {
        let task = bench.submit("/v1/gen-tools/vto-v1", &body).await;
        assert_eq!(bench.view(&task).width, width);
    }
}

#[tokio::test]
async fn regions_can_share_tasks() {
    for (toml, status) in [("", "Task not found"), ("regions_share_tasks = true", "Pending")] {
        let bench = bench(toml).await;
        let task = bench.submit("/v1/gen-dev", &json!({ "prompt": "x" })).await;
        let id = task["id"].as_str().unwrap();
        let elsewhere = format!("{}/v1/get_result?id={id}", bench.sim.regional_base_url());
        assert_eq!(bench.get(&elsewhere).await.json()["status"], status, "{toml}");
        assert_eq!(bench.poll(&task).await["status"], "Pending");
    }
}

#[tokio::test]
async fn an_unknown_task_can_be_a_404() {
    for (toml, code) in [("", 200), ("not_found_status = 404", 404)] {
        let bench = bench(toml).await;
        let body = json!({ "prompt": "[[spurious-not-found]] [[not-found]]" });
        let task = bench.submit("/v1/gen-dev", &body).await;
        let at = |id: &str| format!("{}/v1/get_result?id={id}", bench.sim.base_url());
        for url in [at("nothing"), task["polling_url"].as_str().unwrap().to_owned()] {
            let response = bench.get(&url).await;
            assert_eq!(response.status, code, "{toml}");
            assert_eq!(response.json()["status"], "Task not found");
        }
        assert_eq!(bench.poll(&task).await["status"], "Pending");
        bench.sim.clock().advance(std::time::Duration::from_secs(1));
        assert_eq!(bench.get(task["polling_url"].as_str().unwrap()).await.status, code);
    }
}

#[tokio::test]
async fn the_default_format_can_be_set_per_operation() {
    let bench = bench("output_format_of = { 'gen-kontext-*' = 'png', gen-dev = 'webp' }").await;
    for (path, body, format) in [
        ("gen-kontext-pro", json!({ "prompt": "x" }), "image/png"),
        ("gen-kontext-pro", json!({ "prompt": "x", "output_format": "jpeg" }), "image/jpeg"),
        ("gen-dev", json!({ "prompt": "x" }), "image/webp"),
        ("gen-2-pro", json!({ "prompt": "x", "output_format": null }), "image/jpeg"),
        ("gen-tools/deblur-v1", json!({ "image": png(8, 8) }), "image/png"),
    ] {
        let task = bench.submit(&format!("/v1/{path}"), &body).await;
        let view = bench.view(&task);
        assert_eq!(view.media_type, format, "{path} {body}");
    }
}

#[tokio::test]
async fn a_setting_for_an_unknown_operation_is_an_error() {
    let project = concat!(
        "[[organizations]]\nname = 'A'\n",
        "projects = [{ name = 'W', endpoints = ['gen-2-*', 'gen-dve'] }]",
    );
    let kontext = "output_format_of = { kontext = 'png' }";
    for (toml, setting, meant) in [
        ("[prices.of.gen-2-prp]\nsubmission = 1", "prices.of", "`gen-2-prp`.*`gen-2-pro`"),
        ("ready_after_of = { 'gen-9-*' = 1 }", "ready_after_of", "`gen-9-*`.*`gen-dev*`"),
        (kontext, "output_format_of", "`kontext`.*"),
        (project, "organizations.projects.endpoints", "`gen-dve`.*`gen-dev`"),
    ] {
        let error = Simulator::start(Config::from_toml(toml).unwrap()).await.unwrap_err();
        let error = error.to_string();
        let beginning = format!("the setting `{setting}` is invalid: ");
        assert!(error.starts_with(&beginning), "{error}");
        let (value, nearest) = meant.split_once(".*").unwrap();
        assert!(error.contains(&format!("{value} matches no operation")), "{error}");
        assert!(error.contains(nearest), "{error}");
    }
}

#[tokio::test]
async fn endpoints_that_do_not_exist_cannot_be_set_at_run_time() {
    let bench = Bench::new().await;
    let path = "/api/organizations/default/projects/default/endpoints";
    let set = async |endpoint: &str| {
        bench.control("PUT", path, Some(json!({ "endpoints": [endpoint] }))).await
    };
    for (unknown, meant) in [
        ("gen-2-prp", "gen-2-pro"),
        ("xyz-2-pro", "gen-2-pro"),
        ("gen-2-pro-*x", "gen-2-pro"),
        ("get_result", "gen-dev"),
        ("gen-2-flux*", "gen-2-flex*"),
        ("/v1/gen-2-pro", "gen-2-pro"),
    ] {
        let refused = set(unknown).await;
        assert_eq!(refused.status, 422, "{unknown}");
        let detail = format!("`{unknown}` matches no operation: did you mean `{meant}`?");
        assert_eq!(refused.json()["detail"], detail);
    }
    for known in [
        "*",
        "gen-2-pr*",
        "gen-2-klein-*",
        "gen-tools/erase-v1",
        "gen-tools/*",
        "gen-2-klein-9b-kv-finetuned",
        "gen-2-klein-9b-kv-*",
        "gen-2-klein-9b-kv-fine*",
        "finetune",
    ] {
        assert_eq!(set(known).await.status, 200, "{known}");
    }
}
