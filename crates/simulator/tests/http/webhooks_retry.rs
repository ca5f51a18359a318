//! Failed deliveries of webhooks, and their retries.

use axum::{body::Body, http::header};
use tokio::{net::TcpListener, time::timeout};

use super::{
    webhook_receiver::{Receiver, response},
    webhooks::{SECOND, body, settled, start, submit},
};
use imagekiln_simulator::{WebhookDelivery, WebhookState};

#[tokio::test]
async fn failed_deliveries_are_retried_after_1_5_and_30_seconds() {
    let (bench, mut receiver) = start("").await;
    submit(&bench, &body(&receiver.url(), "a fox")).await;
    let mut bodies = Vec::new();
    let mut moment = SECOND;
    for (attempt, (status, pause)) in
        [(500, 1), (404, 5), (302, 30), (300, 0)].into_iter().enumerate()
    {
        bench.sim.clock().advance_to(moment);
        bodies.push(receiver.respond_with(status).await.body);
        let log = bench
            .sim
            .webhooks_when(|all| {
                all[0].attempts.len() > attempt && all[0].attempts[attempt].status.is_some()
            })
            .await;
        let last = log[0].attempts.last().unwrap();
        assert_eq!((last.at, last.status), (moment, Some(status)), "attempt {attempt}");
        moment += pause * SECOND;
        assert_eq!(log[0].due_at, moment, "after attempt {attempt}");
    }
    let log = settled(&bench.sim).await;
    assert_eq!((log[0].state, log[0].attempts.len()), (WebhookState::GivenUp, 4));
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    bench.sim.clock().advance(1000 * SECOND);
    submit(&bench, &body(&receiver.url(), "another")).await;
    bench.sim.clock().advance(SECOND);
    assert_ne!(
        receiver.respond_with(200).await.body,
        bodies[0],
        "the first is not retried any more"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (bench, mut receiver) = start("retry_after = []").await;
    let other = Receiver::start().await;
    submit(&bench, &body(&receiver.url(), "a fox")).await;
    bench.sim.clock().advance(SECOND);
    let mut redirect = response(307);
    redirect.headers_mut().insert(header::LOCATION, other.url().parse().unwrap());
    receiver.hit().await.respond(redirect);
    let log = settled(&bench.sim).await;
    assert_eq!((log[0].state, log[0].attempts[0].status), (WebhookState::GivenUp, Some(307)));
    assert!(!other.has_been_hit());
}

#[tokio::test]
async fn unresponsive_receivers_do_not_block_others() {
    let (bench, mut responsive) = start("retry_after = []\ntimeout = 1").await;
    let hangs = Receiver::start().await;
    // More than the maximum of concurrent attempts to one receiver.
    for _ in 0..20 {
        submit(&bench, &body(&hangs.url(), "a fox")).await;
    }
    submit(&bench, &body("http://127.0.0.1:1/nobody", "a fox")).await;
    let taken = submit(&bench, &body(&responsive.url(), "a fox")).await;
    bench.sim.clock().advance(SECOND);
    assert_eq!(responsive.respond_with(200).await.json()["id"], taken);
    let log = bench.sim.webhooks_when(|all| all[21].state == WebhookState::Delivered).await;
    assert!(
        log[..20].iter().any(|delivery| delivery.state == WebhookState::Waiting),
        "the others are still pending"
    );
    let log = settled(&bench.sim).await;
    for delivery in &log[..20] {
        assert_eq!(delivery.state, WebhookState::GivenUp);
        assert_eq!(delivery.attempts[0].problem.as_deref(), Some("no response within 1 s"));
    }
    assert!(log[20].attempts[0].problem.as_ref().unwrap().starts_with("could not connect"));
}

/// The time limit of an attempt is longer than that of the test, so unresponsive receivers hold
/// what they have got.
#[tokio::test]
async fn many_unresponsive_receivers_do_not_delay_others() {
    let (bench, mut responsive) = start("timeout = 3600").await;
    let mut unresponsive = Vec::new();
    for _ in 0..100 {
        unresponsive.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    for _ in 0..2 {
        for listener in &unresponsive {
            let url = format!("http://{}/", listener.local_addr().unwrap());
            submit(&bench, &body(&url, "a fox")).await;
        }
        bench.sim.clock().advance(SECOND);
    }
    let begun = |all: &[WebhookDelivery]| all.iter().filter(|one| !one.attempts.is_empty()).count();
    let all_begun = timeout(60 * SECOND, bench.sim.webhooks_when(|all| begun(all) >= 100)).await;
    assert_eq!(begun(&all_begun.expect("some got no attempt")), 100, "one for each");
    for _ in 0..20 {
        let task = submit(&bench, &body(&responsive.url(), "a fox")).await;
        bench.sim.clock().advance(SECOND);
        let hit = timeout(60 * SECOND, responsive.respond_with(200)).await;
        assert_eq!(hit.expect("the responsive receiver waits").json()["id"], task);
    }
}

#[tokio::test]
async fn the_status_code_decides_even_if_the_body_never_ends() {
    let (bench, mut receiver) = start("timeout = 1").await;
    for endless in [Body::new(Endless { silent: true }), Body::new(Endless { silent: false })] {
        submit(&bench, &body(&receiver.url(), "a fox")).await;
        bench.sim.clock().advance(SECOND);
        receiver.hit().await.respond(axum::response::Response::new(endless));
        let log = settled(&bench.sim).await;
        assert_eq!(log.last().unwrap().state, WebhookState::Delivered);
    }
}

/// An endless body: of zeros, or without any data.
struct Endless {
    silent: bool,
}

impl http_body::Body for Endless {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        if self.silent {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(Some(Ok(http_body::Frame::data(vec![0; 1000].into()))))
        }
    }
}
