//! The effect of task statuses on a wait.

use futures_util::StreamExt;
use serde_json::json;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, client, ready, task},
    scripted::ScriptedServer,
};
use imagekiln::{ErrorKind, TaskStatus, WaitEnd, WaitOptions};

#[tokio::test(start_paused = true)]
async fn unknown_statuses_are_kept_verbatim_and_polled_again() {
    let unknown = [
        "Pending",
        "ready",
        "READY",
        "Ready ",
        "error",
        "Task Not Found",
        "",
        "Queued (3/7) \u{1f98a}",
    ];
    let service = ScriptedServer::start().await;
    for status in unknown {
        service.reply(samples::status(status));
    }
    service.reply(ready(&service));
    let client = client(&service);
    let task = task(&client, &service);

    let updates: Vec<_> = task.updates(WaitOptions::default()).map(Result::unwrap).collect().await;

    let (last, before) = updates.split_last().unwrap();
    let seen: Vec<_> = before.iter().map(|update| update.status().as_str()).collect();
    assert_eq!(seen, unknown);
    assert!(before.iter().all(|update| !update.status().is_final() && update.picture().is_none()));
    assert_eq!(last.status(), &TaskStatus::Ready);
    assert!(last.picture().is_some());
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn failures_end_the_wait() {
    for (status, kind) in [
        ("Error", ErrorKind::TaskFailed),
        ("Request Moderated", ErrorKind::Moderated),
        ("Content Moderated", ErrorKind::Moderated),
        ("Task not found", ErrorKind::TaskNotFound),
    ] {
        let service = ScriptedServer::start().await;
        service.reply(samples::status(status));
        let task = task(&client(&service), &service);

        let error = task.wait().await.unwrap_err();

        assert_kind(&error, kind);
        let expected = TaskStatus::from(status);
        assert!(
            matches!(error.wait_end(), Some(WaitEnd::Failed { status, .. }) if *status == expected)
        );
        assert_eq!(error.task(), Some(task.reference()));
        assert!(error.to_string().contains(status), "{error}");
        service.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_with_a_sample_is_a_failure() {
    let service = ScriptedServer::start().await;
    let mut body = samples::ready_body("http://127.0.0.1:1/black.png");
    body["status"] = json!("Content Moderated");
    service.reply(Reply::json(200, &body));

    let error = task(&client(&service), &service).wait().await.unwrap_err();

    assert_kind(&error, ErrorKind::Moderated);
}

#[tokio::test(start_paused = true)]
async fn task_not_found_with_status_code_404_counts() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::json(404, &json!({ "id": "t1", "status": "Task not found" })));

    let error = task(&client(&service), &service).wait().await.unwrap_err();

    assert_kind(&error, ErrorKind::TaskNotFound);
    assert!(matches!(
        error.wait_end(),
        Some(WaitEnd::Failed { status: TaskStatus::TaskNotFound, .. })
    ));
    service.only_request().assert_has_key();
}
