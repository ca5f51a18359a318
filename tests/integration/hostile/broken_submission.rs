//! Connections that break after the POST was sent: billing is unknown, and the client does not send
//! it again.

use tokio::time::Instant;

use crate::support::{
    reply::Reply,
    samples::{self, assert_billing, assert_kind, client, fox, seconds},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Billing, ErrorKind};

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_before_the_end_of_the_response_is_unknown() {
    let half = || Reply::status(200).body("{\"id\":\"t").declaring_length(500);
    let text = |text: &str| Reply::nothing().body(text).then_close();
    for (case, reply) in [
        ("closed", Reply::close()),
        ("reset", Reply::reset()),
        ("body closed", half().then_close()),
        ("body reset", half().then_reset()),
        ("body silent", half().then_silence()),
        ("chunks cut", Reply::cut_chunks(b"{\"cost\":4,\"id\":")),
        ("head closed", text("HTTP/1.1 200 OK\r\nContent-Ty")),
        ("not HTTP", text("SSH-2.0-OpenSSH_9.6\r\n\r\n")),
        ("not a status code", text("HTTP/1.1 20x OK\r\n\r\n")),
    ] {
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
}

#[tokio::test(start_paused = true)]
async fn a_silent_service_fails_at_the_limit() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence());
    let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_billing(&error, ErrorKind::Network, Billing::Unknown);
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
async fn a_refusal_that_is_truncated_or_hangs_is_a_refusal() {
    for (status, kind) in [
        (402, ErrorKind::Payment),
        (403, ErrorKind::Auth),
        (404, ErrorKind::Service),
        (422, ErrorKind::Validation),
    ] {
        let half = || Reply::status(status).body("{\"det").declaring_length(99);
        for reply in [half().then_close(), half().then_silence()] {
            let service = ScriptedServer::start().await;
            service.reply(reply);

            let error = client(&service).submit(fox()).await.unwrap_err();

            assert_kind(&error, kind);
            assert_eq!(error.status(), Some(status));
            assert_eq!(error.billing(), Billing::NotBilled, "{error:?}");
            service.only_request();
        }
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
