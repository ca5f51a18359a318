//! Which submissions get a response without a polling URL.

use serde_json::json;

use super::bench::Bench;
use imagekiln_simulator::{Config, WebhookSettings};

#[tokio::test]
async fn the_polling_url_of_webhooks_is_omitted_if_the_setting_says_so() {
    let url = "http://127.0.0.1:9/hook";
    for (omit_polling_url, path) in [
        (true, "/v1/gen-2-pro"),
        (true, "/v1/gen-2-flex"),
        (false, "/v1/gen-2-pro"),
        (false, "/v1/gen-2-flex"),
    ] {
        let webhooks = WebhookSettings { omit_polling_url, ..WebhookSettings::default() };
        let bench = Bench::with(Config { webhooks, ..Config::default() }).await;
        let body = json!({ "prompt": "a fox", "width": 64, "height": 64 });
        let with_webhook =
            json!({ "prompt": "a fox", "width": 64, "height": 64, "webhook_url": url });
        let task = bench.submit(path, &with_webhook).await;
        assert_eq!(task.get("polling_url").is_none(), omit_polling_url, "{path}: {task}");
        assert_eq!(task["webhook_url"] == url, omit_polling_url, "{path}: {task}");
        assert_eq!(task.get("status").is_some(), omit_polling_url, "never a mixture: {task}");
        assert!(bench.submit(path, &body).await["polling_url"].is_string(), "without a webhook");
    }
}
