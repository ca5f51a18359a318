//! Connections that break after the POST was sent: billing is unknown, and the client does not send
//! it again.

use tokio::time::Instant;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, client, fox, seconds},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Billing, ErrorKind, types::Gen2Pro};

async fn assert_unknown_after(reply: Reply, case: &str) {
    let service = ScriptedServer::start().await;
    service.reply(reply);

    let error = client(&service).submit(fox()).await.unwrap_err();
    // A second POST would follow after a delay.
    tokio::time::sleep(seconds(3600)).await;

    assert_kind(&error, ErrorKind::Network);
    assert_eq!(error.billing(), Billing::Unknown, "{case}: {error:?}");
    assert_eq!(error.operation_name(), Some("gen-2-pro"), "{case}");
    let post = service.only_request();
    assert!(post.complete, "{case}");
    post.assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn a_connection_closed_before_the_response_is_unknown() {
    assert_unknown_after(Reply::close(), "closed").await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_reset_before_the_response_is_unknown() {
    assert_unknown_after(Reply::reset(), "reset").await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_broken_during_the_response_is_unknown() {
    let half = || Reply::status(200).body("{\"id\":\"t").declaring_length(500);
    assert_unknown_after(half().then_close(), "body closed").await;
    assert_unknown_after(half().then_reset(), "body reset").await;
    assert_unknown_after(half().then_silence(), "body silent").await;
    assert_unknown_after(Reply::cut_chunks(b"{\"cost\":4,\"id\":"), "chunks cut").await;
    let half_a_head = Reply::nothing().body("HTTP/1.1 200 OK\r\nContent-Ty");
    assert_unknown_after(half_a_head.then_close(), "head closed").await;
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_http_is_unknown() {
    assert_unknown_after(Reply::nothing().body("SSH-2.0-OpenSSH_9.6\r\n\r\n").then_close(), "ssh")
        .await;
    assert_unknown_after(Reply::nothing().body("HTTP/1.1 20x OK\r\n\r\n").then_close(), "status")
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_service_fails_at_the_limit() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence());
    let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert_eq!(error.billing(), Billing::Unknown);
    assert_eq!(started.elapsed().as_secs(), 45);
    assert!(service.only_request().complete);
}

/// The limit applies to silence: a slow response that keeps arriving contains a billed task.
#[tokio::test(start_paused = true)]
async fn a_slow_response_is_accepted() {
    let service = ScriptedServer::start().await;
    let (reply, pieces) = Reply::nothing().in_pieces();
    service.reply(reply);
    let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
    let submission = tokio::spawn(async move { client.submit(fox()).await });
    service.wait_for_requests(1).await;

    let response = samples::accepted(&service, "slow").bytes();
    // The headers at once, because an incomplete header is indistinguishable from silence.
    let (first, rest) = response.split_at(response.len() - 60);
    for piece in std::iter::once(first).chain(rest.chunks(20)) {
        tokio::time::sleep(seconds(40)).await;
        pieces.send(piece);
    }

    assert_eq!(submission.await.unwrap().unwrap().id(), "slow");
    assert_eq!(service.posts().len(), 1);
}

/// A refusal counts even if its body is incomplete.
#[tokio::test(start_paused = true)]
async fn a_truncated_refusal_is_a_refusal() {
    for (status, kind) in
        [(403, ErrorKind::Auth), (422, ErrorKind::Validation), (404, ErrorKind::Service)]
    {
        let service = ScriptedServer::start().await;
        service.reply(Reply::status(status).body("{\"det").declaring_length(99).then_close());

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_kind(&error, kind);
        assert_eq!(error.status(), Some(status));
        assert_ne!(error.billing(), Billing::Unknown, "{error:?}");
        service.only_request();
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_closed_while_idle_is_not_reused() {
    for reset in [false, true] {
        let service = ScriptedServer::start().await;
        let (first, connection) = samples::accepted(&service, "t1").in_pieces();
        service.reply(if reset { first.then_reset() } else { first.then_close() });
        service.reply(samples::accepted(&service, "t2"));
        let client = client(&service);
        let _ = client.submit(fox()).await.unwrap();

        drop(connection);
        settle().await;
        let second = client.submit(fox()).await.unwrap();

        assert_eq!(second.id(), "t2");
        let posts = service.posts();
        assert_eq!(posts.iter().map(|post| post.connection).collect::<Vec<_>>(), [1, 2]);
        service.assert_every_request_has_the_key();
    }
}

/// The service may have received the POST.
#[tokio::test(start_paused = true)]
async fn a_connection_that_closes_after_a_post_is_unknown() {
    for reply in [Reply::close(), Reply::reset()] {
        let service = ScriptedServer::start().await;
        service.reply(samples::accepted(&service, "t1")).reply(reply);
        let client = client(&service);
        let _ = client.submit(Gen2Pro::new("the first")).await.unwrap();
        settle().await;

        let error = client.submit(Gen2Pro::new("the second")).await.unwrap_err();
        tokio::time::sleep(seconds(3600)).await;

        assert_kind(&error, ErrorKind::Network);
        assert_eq!(error.billing(), Billing::Unknown);
        let posts = service.posts();
        let prompts: Vec<_> = posts.iter().map(|post| post.json()["prompt"].clone()).collect();
        assert_eq!(prompts, ["the first", "the second"]);
        assert_eq!(posts[1].connection, 2, "the first connection may be dead");
    }
}

/// Bytes after a response must not be read as the response to the next request.
#[tokio::test(start_paused = true)]
async fn an_unsolicited_response_is_ignored() {
    let service = ScriptedServer::start().await;
    let forged = samples::accepted(&service, "forged");
    service.reply(samples::accepted(&service, "t1").followed_by(&forged).then_silence());
    let client = client(&service);
    let _ = client.submit(fox()).await.unwrap();
    settle().await;

    service.reply(samples::accepted(&service, "t2"));
    let second = client.submit(fox()).await.unwrap();

    assert_eq!(second.id(), "t2");
    assert_eq!(service.posts().len(), 2);
}
