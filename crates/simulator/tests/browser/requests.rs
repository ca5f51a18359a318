//! The journal shows the requests, and explains why some were rejected.

use serde_json::{Value, json};

use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;

use super::{
    bench::png,
    stage::{self, Stage},
};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(Config::default(), rejected_requests_are_explained_and_filters_find_them),
        stage::test(Config::default(), a_request_shows_its_body_and_can_be_copied_without_the_key),
    ]
}

async fn rejected_requests_are_explained_and_filters_find_them(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    browser.click("nav a[href='#/requests']").await;
    let body = json!({ "prompt": "x [[html-502@poll]]", "width": 64, "height": 64, "size": 1 });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    bench.get(task["polling_url"].as_str().unwrap()).await;
    bench.post("/v1/gen-2-flex", &json!({ "prompt": "<b>x</b>", "width": 3 })).await;
    bench.fetch(&format!("{}/v1/get_result?id=1", bench.sim.base_url())).await;
    browser.wait("document.querySelectorAll('.request').length === 4").await;
    let texts = "[...document.querySelectorAll('.request')].map((one) => [
        one.querySelector('.chip').textContent,
        one.querySelector('.call').textContent,
        [...one.querySelectorAll('.notes li')].map((line) => line.textContent).join('; '),
    ])";
    let shown = browser.run(&format!("return {texts}")).await;
    let key_problem = shown[0][2].clone();
    assert!(key_problem.as_str().unwrap().contains("x-key"), "{shown}");
    assert_eq!(
        shown,
        json!([
            ["403", "GET /v1/get_result", key_problem],
            [
                "422",
                "POST /v1/gen-2-flex",
                "body.width: Input should be greater than or equal to 64",
            ],
            ["502", "GET /v1/get_result", "Faults: html-502"],
            ["200", "POST /v1/gen-2-pro", "Ignored fields: size"],
        ])
    );
    let link = format!("#/tasks/{}", task["id"].as_str().unwrap());
    let found = "return document.querySelector('.request:last-child .of').hash";
    assert_eq!(browser.run(found).await, link);

    for (name, value, found) in [("status", "422", 1), ("operation", "get_result", 2)] {
        stage.choose(name, value).await;
        browser.wait(&format!("document.querySelectorAll('.request').length === {found}")).await;
        stage.choose(name, "").await;
        browser.wait("document.querySelectorAll('.request').length === 4").await;
    }
}

async fn a_request_shows_its_body_and_can_be_copied_without_the_key(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let body = json!({
        "prompt": "it's a fox", "width": 64, "height": 64,
        "input_image": png(48, 32), "webhook_url": "http://127.0.0.1:9", "webhook_secret": "s3cret",
    });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    bench.get(task["polling_url"].as_str().unwrap()).await;
    browser.click("nav a[href='#/requests']").await;
    browser.wait("document.querySelectorAll('.request').length === 2").await;
    let shown = async |body: &str| -> Value {
        let shown = format!("return document.querySelector('.request{body}').textContent");
        serde_json::from_str(browser.run(&shown).await.as_str().unwrap()).unwrap()
    };
    // Numbers without a fraction are the same in JavaScript, and not here.
    let accepted = shown(":last-child pre[aria-label=Response]").await;
    assert_eq!(accepted["polling_url"], task["polling_url"]);
    assert_eq!(shown(":first-child pre").await["id"], task["id"]);
    let shown = shown(":last-child pre[aria-label=Request]").await;
    assert_eq!(shown["prompt"], "it's a fox");
    assert_eq!(shown["webhook_secret"], "[redacted]");
    assert!(shown["input_image"].as_str().unwrap().contains("48 x 32"), "{shown}");

    stage.catch_copies().await;
    let id = task["id"].as_str().unwrap();
    let header = "--header \"x-key: $IMAGEKILN_API_KEY\"";
    let base = bench.sim.base_url();
    let json = shown.to_string().replace('\'', "'\\''");
    for (place, command) in [
        ("first", format!("curl '{base}/v1/get_result?id={id}' {header}")),
        ("last", format!("curl '{base}/v1/gen-2-pro' {header} --json '{json}'")),
    ] {
        browser.run("window.copied = undefined").await;
        browser.click(&format!(".request:{place}-child button")).await;
        assert_eq!(browser.wait("window.copied").await, command);
    }
    let section = browser.run("return document.querySelector('#section-requests').outerHTML").await;
    assert!(!section.as_str().unwrap().contains(bench.sim.api_key()));
}
