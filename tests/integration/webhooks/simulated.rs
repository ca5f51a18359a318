//! Webhooks of the simulator over HTTP, in every scheme and with every fault.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::Bytes,
    extract::Request,
    http::{HeaderMap, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::post,
};
use tokio::sync::mpsc;

use super::{
    simulation::{
        DAY, SCHEMES, SECOND, Simulation, client, ends, settled, simulator, submit, verifier,
    },
    test_receiver::TestReceiver,
};
use imagekiln::{
    TaskStatus,
    types::Gen2Flex,
    webhook::{Receiver, Rejection},
};
use imagekiln_simulator::{WebhookCause, WebhookScheme, WebhookSettings};

#[tokio::test]
async fn every_scheme_is_verified_and_its_task_is_handled() {
    for scheme in SCHEMES {
        let mut simulation = Simulation::with(scheme).await;
        let task = simulation.submit("a red fox").await;
        simulation.sim.clock().advance(SECOND);
        let picture = simulation.receiver.outcome().await.unwrap();
        assert_eq!(picture.task(), task.reference(), "{scheme:?}");
        assert!(!picture.bytes().await.unwrap().is_empty());
        assert_eq!(
            ends(&settled(&simulation.sim).await),
            [(WebhookCause::Final, Some(204))],
            "{scheme:?}"
        );
    }
}

#[tokio::test]
async fn a_forged_event_is_refused_and_the_genuine_one_counts() {
    for scheme in SCHEMES {
        let mut simulation = Simulation::with(scheme).await;
        let task = simulation.submit("[[webhook-forged]]").await;
        simulation.sim.clock().advance(SECOND);
        assert_eq!(simulation.receiver.outcome().await.unwrap().task(), task.reference());
        let expected = [(WebhookCause::Forgery, Some(401)), (WebhookCause::Final, Some(204))];
        assert_eq!(ends(&settled(&simulation.sim).await), expected, "{scheme:?}");
        simulation.assert_nothing_more().await;
    }
}

/// A custom server receives the simulator's deliveries, and gets a typed reason for each rejection.
#[tokio::test]
async fn a_custom_server_gets_typed_refusals() {
    for scheme in SCHEMES {
        let sim = simulator(WebhookSettings { scheme, ..WebhookSettings::default() }).await;
        let (client, verifier) = (client(&sim), verifier(&sim, scheme));
        let (sender, mut results) = mpsc::unbounded_channel();
        let take = move |headers: HeaderMap, body: Bytes| async move {
            sender.send(verifier.verify(&headers, &body)).unwrap();
            StatusCode::NO_CONTENT
        };
        let receiver = TestReceiver::serving(
            Router::new().route("/hook", post(take)),
            mpsc::unbounded_channel().1,
        )
        .await;
        let task = submit(&client, &receiver, "[[webhook-forged]]").await;
        sim.clock().advance(SECOND);
        let mut verified = Vec::new();
        for _ in 0..2 {
            match results.recv().await.unwrap() {
                Ok(event) => verified.push(event),
                Err(rejection) => {
                    assert!(matches!(rejection, Rejection::Wrong { .. }), "{scheme:?}: {rejection}")
                }
            }
        }
        let [event] = verified.as_slice() else { panic!("{scheme:?}: {verified:?}") };
        assert_eq!(event.message_id().is_some(), scheme == WebhookScheme::Standard);
        let update = client.confirm(event, task.reference()).await.unwrap();
        assert_eq!(update.status(), &TaskStatus::Ready);

        let unsigned = Gen2Flex::new("a fox").width(64).height(64).webhook_url(receiver.url());
        let _ = client.submit(unsigned).await.unwrap();
        sim.clock().advance(SECOND);
        let rejection = results.recv().await.unwrap().unwrap_err();
        assert!(matches!(rejection, Rejection::Missing { .. }), "{scheme:?}: {rejection}");
    }
}

#[tokio::test]
async fn a_duplicate_is_handled_once() {
    for scheme in SCHEMES {
        let mut simulation = Simulation::with(scheme).await;
        let task = simulation.submit("[[webhook-duplicate]]").await;
        simulation.sim.clock().advance(SECOND);
        assert_eq!(simulation.receiver.outcome().await.unwrap().task(), task.reference());
        let expected = [(WebhookCause::Final, Some(204)), (WebhookCause::Duplicate, Some(204))];
        assert_eq!(ends(&settled(&simulation.sim).await), expected, "{scheme:?}");
        simulation.assert_nothing_more().await;
    }
}

#[tokio::test]
async fn an_event_delivered_again_a_day_later_is_ignored() {
    for scheme in SCHEMES {
        let mut simulation = Simulation::with(scheme).await;
        let _ = simulation.submit("a fox").await;
        simulation.sim.clock().advance(SECOND);
        let _ = simulation.receiver.outcome().await.unwrap();
        let log = settled(&simulation.sim).await;
        simulation.sim.clock().advance(DAY);
        simulation.sim.redeliver_webhook(log[0].id).unwrap();
        let log = settled(&simulation.sim).await;
        assert_eq!(ends(&log)[1], (WebhookCause::Redelivery, Some(204)), "{scheme:?}");
        assert_eq!(log[0].webhook_id, log[1].webhook_id);
        simulation.assert_nothing_more().await;
    }
}

#[tokio::test]
async fn late_and_out_of_order_events_find_their_tasks() {
    for scheme in SCHEMES {
        let mut simulation = Simulation::with(scheme).await;
        let late = simulation.submit("[[webhook-late=20]]").await;
        let held = simulation.submit("[[webhook-out-of-order]]").await;
        simulation.sim.clock().advance(SECOND);
        let later = simulation.submit("a later fox").await;
        simulation.sim.clock().advance(SECOND);
        let first_two = [
            simulation.receiver.outcome().await.unwrap(),
            simulation.receiver.outcome().await.unwrap(),
        ];
        for task in [&held, &later] {
            assert!(
                first_two.iter().any(|picture| picture.task() == task.reference()),
                "{scheme:?}"
            );
        }
        simulation.sim.clock().advance(20 * SECOND);
        assert_eq!(simulation.receiver.outcome().await.unwrap().task(), late.reference());
    }
}

/// Refuses the first two deliveries, like a server that is starting.
async fn refuse_the_first_two(count: Arc<AtomicUsize>, request: Request, next: Next) -> Response {
    match count.fetch_add(1, Ordering::Relaxed) {
        0 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        1 => StatusCode::BAD_GATEWAY.into_response(),
        _ => next.run(request).await,
    }
}

#[tokio::test]
async fn a_retried_delivery_is_verified() {
    for scheme in SCHEMES {
        let sim = simulator(WebhookSettings { scheme, ..WebhookSettings::default() }).await;
        let client = client(&sim);
        let count = Arc::new(AtomicUsize::new(0));
        let receiver = Receiver::new(client.clone(), verifier(&sim, scheme));
        let mut receiver = TestReceiver::behind(receiver, |router| {
            let refuse = middleware::from_fn(move |request, next| {
                refuse_the_first_two(Arc::clone(&count), request, next)
            });
            Router::new().nest("/hook", router).layer(refuse)
        })
        .await;
        let task = submit(&client, &receiver, "a fox").await;
        sim.clock().advance(SECOND);
        for attempts in 1..3 {
            let log = sim
                .webhooks_when(|all| {
                    all[0].attempts.len() == attempts
                        && all[0].attempts[attempts - 1].status.is_some()
                })
                .await;
            sim.clock().advance_to(log[0].due_at);
        }
        assert_eq!(receiver.outcome().await.unwrap().task(), task.reference(), "{scheme:?}");
        let log = settled(&sim).await;
        let statuses: Vec<_> =
            log[0].attempts.iter().map(|attempt| attempt.status.unwrap()).collect();
        assert_eq!(statuses, [500, 502, 204]);
    }
}
