//! A connection that breaks once the POST is out: whether it was paid is unknown, and it is never
//! sent again.

use imagekiln::{ErrorKind, types::Gen2Pro};
use tokio::time::Instant;

use crate::support::{
    answer::Answer,
    samples::{self, assert_kind, client, fox, seconds},
    scripted::ScriptedServer,
    settle,
};

async fn assert_unknown_after(answer: Answer, case: &str) {
    let service = ScriptedServer::start().await;
    service.answer(answer);

    let error = client(&service).submit(fox()).await.unwrap_err();
    // A second POST would follow after a delay.
    tokio::time::sleep(seconds(3600)).await;

    assert_kind(&error, ErrorKind::Network);
    assert!(error.may_have_been_billed(), "{case}: {error:?}");
    assert_eq!(error.operation_name(), Some("gen-2-pro"), "{case}");
    let post = service.only_request();
    assert!(post.complete, "{case}");
    post.assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn closed_before_the_answer() {
    assert_unknown_after(Answer::close(), "closed").await;
}

#[tokio::test(start_paused = true)]
async fn reset_before_the_answer() {
    assert_unknown_after(Answer::reset(), "reset").await;
}

#[tokio::test(start_paused = true)]
async fn broken_in_the_middle_of_the_answer() {
    let half = || Answer::status(200).body("{\"id\":\"t").declaring_length(500);
    assert_unknown_after(half().then_close(), "body closed").await;
    assert_unknown_after(half().then_reset(), "body reset").await;
    assert_unknown_after(half().then_silence(), "body silent").await;
    assert_unknown_after(Answer::cut_chunks(b"{\"cost\":4,\"id\":"), "chunks cut").await;
    let half_a_head = Answer::nothing().body("HTTP/1.1 200 OK\r\nContent-Ty");
    assert_unknown_after(half_a_head.then_close(), "head closed").await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_http() {
    assert_unknown_after(Answer::nothing().body("SSH-2.0-OpenSSH_9.6\r\n\r\n").then_close(), "ssh")
        .await;
    assert_unknown_after(Answer::nothing().body("HTTP/1.1 20x OK\r\n\r\n").then_close(), "status")
        .await;
}

#[tokio::test(start_paused = true)]
async fn silence_ends_at_the_limit() {
    let service = ScriptedServer::start().await;
    service.answer(Answer::silence());
    let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert!(error.may_have_been_billed());
    assert_eq!(started.elapsed().as_secs(), 45);
    assert!(service.only_request().complete);
}

/// The limit is one on silence: an answer that comes slowly, and never stops coming, is the task
/// that was paid.
#[tokio::test(start_paused = true)]
async fn an_answer_that_trickles_in_is_waited_for() {
    let service = ScriptedServer::start().await;
    let (answer, pieces) = Answer::nothing().in_pieces();
    service.answer(answer);
    let client = samples::builder(&service).silence_timeout(seconds(45)).build().unwrap();
    let submission = tokio::spawn(async move { client.submit(fox()).await });
    service.wait_for_requests(1).await;

    let whole = samples::accepted(&service, "slow").bytes();
    // The head at once: nothing tells that half of one has come.
    let (first, rest) = whole.split_at(whole.len() - 60);
    for piece in std::iter::once(first).chain(rest.chunks(20)) {
        tokio::time::sleep(seconds(40)).await;
        pieces.send(piece);
    }

    assert_eq!(submission.await.unwrap().unwrap().id(), "slow");
    assert_eq!(service.posts().len(), 1);
}

/// A refusal is one, even if its text does not come to its end.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_breaks_off_is_a_refusal() {
    for (status, kind) in
        [(403, ErrorKind::Auth), (422, ErrorKind::Validation), (404, ErrorKind::Service)]
    {
        let service = ScriptedServer::start().await;
        service.answer(Answer::status(status).body("{\"det").declaring_length(99).then_close());

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_kind(&error, kind);
        assert_eq!(error.status(), Some(status));
        assert!(!error.may_have_been_billed(), "{error:?}");
        service.only_request();
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_closed_while_idle_is_not_used_again() {
    for reset in [false, true] {
        let service = ScriptedServer::start().await;
        let (first, connection) = samples::accepted(&service, "t1").in_pieces();
        service.answer(if reset { first.then_reset() } else { first.then_close() });
        service.answer(samples::accepted(&service, "t2"));
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

/// The race that clients lose by repeating: the connection was kept, the POST went out on it, and
/// it closed.
#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_closes_on_the_next_post_is_unknown() {
    for answer in [Answer::close(), Answer::reset()] {
        let service = ScriptedServer::start().await;
        service.answer(samples::accepted(&service, "t1")).answer(answer);
        let client = client(&service);
        let _ = client.submit(Gen2Pro::new("the first")).await.unwrap();
        settle().await;

        let error = client.submit(Gen2Pro::new("the second")).await.unwrap_err();
        tokio::time::sleep(seconds(3600)).await;

        assert_kind(&error, ErrorKind::Network);
        assert!(error.may_have_been_billed());
        let posts = service.posts();
        let prompts: Vec<_> = posts.iter().map(|post| post.json()["prompt"].clone()).collect();
        assert_eq!(prompts, ["the first", "the second"]);
        assert_eq!(posts[1].connection, 1, "the connection was not kept, so this tested nothing");
    }
}

/// Bytes behind an answer must never pass for the answer to the next request.
#[tokio::test(start_paused = true)]
async fn an_answer_nobody_asked_for_is_no_answer() {
    let service = ScriptedServer::start().await;
    let forged = samples::accepted(&service, "forged");
    service.answer(samples::accepted(&service, "t1").followed_by(&forged).then_silence());
    let client = client(&service);
    let _ = client.submit(fox()).await.unwrap();
    settle().await;

    service.answer(samples::accepted(&service, "t2"));
    let second = client.submit(fox()).await.unwrap();

    assert_eq!(second.id(), "t2");
    assert_eq!(service.posts().len(), 2);
}
