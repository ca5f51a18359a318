//! Webhooks are shown as they are sent.

use serde_json::json;

use imagekiln_simulator::{Config, WebhookScheme};
use imagekiln_testbed::{ClosedPort, Trial};

use super::stage::{self, Stage};

pub fn tests() -> Vec<Trial> {
    let mut standard = Config::default();
    standard.webhooks.scheme = WebhookScheme::Standard;
    vec![
        stage::test(Config::default(), a_webhook_is_shown_with_its_body_and_can_be_sent_again),
        stage::test(standard, a_webhook_without_a_secret_has_no_signature),
    ]
}

async fn a_webhook_without_a_secret_has_no_signature(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    browser.click("nav a[href='#/webhooks']").await;
    let hook = format!("{}/hook", ClosedPort::reserve().url());
    let body = json!({ "prompt": "a fox", "width": 64, "height": 64, "webhook_url": hook });
    bench.submit("/v1/gen-2-pro", &body).await;
    bench.sim.clock().advance(std::time::Duration::from_secs(1));
    let none = "document.querySelector('.delivery .signature')?.textContent.startsWith('none')";
    browser.wait(none).await;
    assert_eq!(bench.sim.webhooks()[0].headers.len(), 2, "the id and the time");
}

async fn a_webhook_is_shown_with_its_body_and_can_be_sent_again(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    browser.click("nav a[href='#/webhooks']").await;
    let refusing = ClosedPort::reserve();
    let hook = format!("{}/<b>hook</b>", refusing.url());
    let body = json!({
        "prompt": "a fox", "width": 64, "height": 64,
        "webhook_url": hook, "webhook_secret": "s3cret",
    });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    bench.sim.clock().advance(std::time::Duration::from_secs(1));
    // Before, the page may say when the attempt is due.
    let attempt =
        "document.querySelector('.delivery .attempts')?.textContent.includes('attempt 1:')";
    browser.wait(attempt).await;
    let shown = browser.run("return document.querySelector('.delivery .body').textContent").await;
    assert!(shown.as_str().unwrap().contains(task["id"].as_str().unwrap()), "{shown}");
    assert_eq!(browser.run("return document.querySelectorAll('.delivery b').length").await, 0);
    let facts = "return ['.of', '.signature', '.attempts li']
        .map((selector) => document.querySelector(`.delivery ${selector}`).textContent)";
    let facts = browser.run(facts).await;
    assert_eq!(facts[0], "a fox");
    let headers = &bench.sim.webhooks()[0].headers;
    assert_eq!(facts[1], format!("{}: {}", headers[0].0, headers[0].1));
    assert!(headers[0].1.starts_with("sha256="), "{headers:?}");
    let attempt = facts[2].as_str().unwrap();
    assert!(attempt[..8].bytes().filter(|byte| *byte == b':').count() == 2, "{attempt}");
    assert!(attempt.contains(" UTC, attempt 1: "), "{attempt}");
    browser.click(".delivery button").await;
    browser.wait("document.querySelectorAll('.delivery').length === 2").await;
    assert_eq!(bench.sim.webhooks().len(), 2);
}
