//! axe finds no accessibility problems in any section, in both colour schemes, on a wide and on a
//! narrow screen.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use imagekiln_simulator::Config;
use imagekiln_testbed::{Requirement, Trial, browser::BROWSER};

use super::{
    bench::png,
    stage::{self, Stage},
};

const AXE: Requirement = Requirement {
    name: "axe-core",
    is_present: || script().is_file(),
    advice: "npm install --no-save --prefix target/npm axe-core@4.14.1",
    variable: "IMAGEKILN_BROWSER_TESTS",
};

/// Where the advice above puts it.
fn script() -> PathBuf {
    let npm = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/npm/node_modules");
    PathBuf::from(npm).join("axe-core/axe.min.js")
}

pub fn tests() -> Vec<Trial> {
    let config = Config { ready_after: Duration::from_secs(3600), ..Config::default() };
    vec![
        stage::test_with(&[BROWSER, AXE], Config::default(), axe_finds_nothing_on_the_first_screen),
        stage::test_with(&[BROWSER, AXE], config, axe_finds_nothing_in_any_section),
    ]
}

/// The problems that axe finds: the rule, and the elements.
async fn problems(stage: &Stage<'_>) -> Value {
    let browser = &stage.browser;
    let script = fs::read_to_string(script()).unwrap();
    browser.run(&format!("if (!window.axe) {{ {script} }}")).await;
    // The driver awaits the promise.
    browser
        .run(
            "return axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [
                id,
                nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`),
            ]))",
        )
        .await
}

async fn assert_accessible(stage: &Stage<'_>, place: &str) {
    for (width, height) in [(1280, 800), (390, 844)] {
        stage.browser.resize(width, height).await;
        for colours in ["light", "dark"] {
            stage.browser.prefer(colours).await;
            assert_eq!(problems(stage).await, json!([]), "{place}, {width}, {colours}");
        }
    }
}

async fn axe_finds_nothing_on_the_first_screen(stage: &Stage<'_>) {
    stage.browser.wait("document.querySelector('.welcome .connection')").await;
    assert_accessible(stage, "the first screen").await;
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
        browser.run(&format!("location.hash = '#/{place}'")).await;
        browser.wait(&format!("document.querySelector('{shown}')")).await;
        if place == "docs" {
            stage.try_out("#operations-generation-gen_2_pro").await;
            browser.wait("document.querySelector('.live-responses-table .response')").await;
        }
        stage.unfold().await;
        assert_accessible(stage, place).await;
    }
}
