//! axe finds no accessibility problems in any section, in both colour schemes, on a wide and on a
//! narrow screen.

use std::time::Duration;

use serde_json::json;

use imagekiln_simulator::Config;
use imagekiln_testbed::{
    Trial,
    browser::{AXE, BROWSER, assert_accessible},
};

use super::{
    bench::png,
    stage::{self, Stage},
};

pub fn tests() -> Vec<Trial> {
    let config = Config { ready_after: Duration::from_secs(3600), ..Config::default() };
    vec![
        stage::test_with(&[BROWSER, AXE], Config::default(), axe_finds_nothing_on_the_first_screen),
        stage::test_with(&[BROWSER, AXE], config, axe_finds_nothing_in_any_section),
    ]
}

async fn axe_finds_nothing_on_the_first_screen(stage: &Stage<'_>) {
    stage.browser.wait("document.querySelector('.welcome .connection')").await;
    assert_accessible(stage.browser, "the first screen").await;
}

/// A task in progress, a failed one, and one with a picture, an image, an ignored field and a
/// webhook; and a rejected request and a fault rule. Returns the id of the last task.
async fn fill(stage: &Stage<'_>) -> String {
    let bench = &stage.bench;
    let receiver = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = format!("http://{}/hook", receiver.local_addr().unwrap());
    drop(receiver);
    bench.submit("/v1/gen-2-pro", &json!({ "prompt": "gore" })).await;
    let body = json!({
        "prompt": "a fox", "input_image": png(64, 64), "quality": 1, "webhook_url": hook,
    });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    bench.sim.clock().advance(Duration::from_secs(3600));
    bench.poll(&task).await;
    bench.submit("/v1/gen-2-pro", &json!({ "prompt": "an owl" })).await;
    bench.post("/v1/gen-2-pro", &json!({ "prompt": "x", "width": 3 })).await;
    bench.sim.faults().add("webhook-late:0.5").unwrap();
    task["id"].as_str().unwrap().to_owned()
}

async fn axe_finds_nothing_in_any_section(stage: &Stage<'_>) {
    let browser = &stage.browser;
    let id = fill(stage).await;
    let details = format!("tasks/{id}");
    for (place, shown) in [
        ("tasks", ".card img"),
        (&*details, "dialog[open] .images img"),
        ("requests", ".request"),
        ("accounts", ".organization"),
        ("keys", "#section-keys td"),
        ("finetunes", "#section-finetunes td"),
        ("webhooks", ".delivery .attempts li"),
        ("faults", ".rules td"),
        ("clock", ".face"),
        ("docs", ".opblock"),
    ] {
        stage.show(place, shown).await;
        if place == "docs" {
            stage.try_out("#operations-generation-gen_2_pro").await;
            browser.wait("document.querySelector('.live-responses-table .response')").await;
        }
        stage.unfold().await;
        assert_accessible(stage.browser, place).await;
    }
}
