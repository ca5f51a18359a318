//! The counters count what happened, and their labels are limited.

use metrics_exporter_prometheus::PrometheusBuilder;
use tempfile::TempDir;

use crate::{
    support::{
        reply::Reply,
        samples::{self, PNG, accepted, fox, served},
        scripted::ScriptedServer,
    },
    transport::refused,
};
use imagekiln::TaskRef;

/// Asserts the value of each series.
#[track_caller]
fn assert_series(page: &str, expected: &[(&str, &str)]) {
    for (series, value) in expected {
        let line = format!("imagekiln_{series} {value}");
        assert!(page.lines().any(|found| found == line), "no `{line}` in\n{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_count_what_happened() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::client(&service);
    let directory = TempDir::new().unwrap();
    service
        .reply(refused())
        .reply(accepted(&service, "t1"))
        .reply(Reply::html(502))
        .reply(samples::status("Pending"))
        .reply(samples::ready(&delivery));
    delivery.reply(Reply::html(200)).reply(Reply::png(PNG));
    let picture = client.submit(fox()).await.unwrap().wait().await.unwrap();
    picture.save(directory.path().join("fox.png")).await.unwrap();
    service.reply(Reply::status(403)).reply(Reply::close());
    client.submit(fox()).await.unwrap_err();
    client.submit(fox()).await.unwrap_err();
    client.submit(fox().seed(7).width(1)).await.unwrap_err();

    let operation = r#"operation="gen-2-pro""#;
    assert_series(
        &recorder.handle().render(),
        &[
            (&format!(r#"submissions_total{{{operation},outcome="accepted"}}"#), "1"),
            (&format!(r#"submissions_total{{{operation},outcome="not_billed"}}"#), "1"),
            (&format!(r#"submissions_total{{{operation},outcome="unknown"}}"#), "1"),
            (&format!("credits_sum{{{operation}}}"), "4"),
            (&format!("credits_count{{{operation}}}"), "1"),
            (&format!(r#"polls_total{{{operation},outcome="service"}}"#), "1"),
            (&format!(r#"polls_total{{{operation},outcome="in_progress"}}"#), "1"),
            (&format!(r#"polls_total{{{operation},outcome="ready"}}"#), "1"),
            (r#"retries_total{purpose="submission",reason="rate_limited"}"#, "1"),
            (r#"retries_total{purpose="poll",reason="service"}"#, "1"),
            (r#"retries_total{purpose="download",reason="damaged"}"#, "1"),
            (&format!("pictures_saved_total{{{operation}}}"), "1"),
            (r#"request_duration_seconds_count{purpose="submission",status="4xx"}"#, "2"),
            (r#"request_duration_seconds_count{purpose="submission",status="none"}"#, "1"),
            (r#"request_duration_seconds_count{purpose="download",status="2xx"}"#, "2"),
            (&format!(r#"wait_duration_seconds_count{{{operation},outcome="ready"}}"#), "1"),
        ],
    );
}

/// Each value of a label is a series that an exporter keeps.
#[tokio::test(start_paused = true)]
async fn labels_contain_no_text_from_outside() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let (service, client) = served().await;
    service.reply(samples::status("Warming up")).reply(Reply::status(699));
    let url = samples::polling_url(&service, "t1");
    let task = client.task(TaskRef::new("t1", url, Some("gen-from-outside".to_owned())));

    let _ = task.poll().await.unwrap();
    task.poll().await.unwrap_err();

    let page = recorder.handle().render();
    for text in ["Warming", "gen-from-outside", "t1", "699"] {
        assert!(!page.contains(text), "`{text}` in\n{page}");
    }
    let unknown = r#"polls_total{operation="unknown",outcome="in_progress"}"#;
    assert_series(&page, &[(unknown, "1")]);
}
