//! The simulator's webhooks over real HTTP, in each of its schemes, and with each of its faults.

use std::{
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, UNIX_EPOCH},
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
use imagekiln::{
    Client, Task, TaskStatus,
    types::Gen2Flex,
    webhook::{Receiver, Refusal, Verifier},
};
use imagekiln_simulator::{
    Config, Simulator, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings, WebhookState,
};
use tokio::sync::mpsc;

use super::{
    signed::{SECRET, headers},
    stage::Stage,
};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

const SCHEMES: [WebhookScheme; 3] =
    [WebhookScheme::HmacSha256, WebhookScheme::Secret, WebhookScheme::Standard];

/// A simulator whose clock stands still, a client of it, and a receiver.
struct House {
    sim: Simulator,
    client: Client,
    stage: Stage,
}

impl House {
    async fn with(scheme: WebhookScheme) -> Self {
        let webhooks = WebhookSettings { scheme, ..WebhookSettings::default() };
        let sim = simulator(webhooks).await;
        let client = client(&sim);
        let stage = Stage::of(Receiver::new(client.clone(), verifier(&sim, scheme))).await;
        Self { sim, client, stage }
    }

    async fn submit(&self, prompt: &str) -> Task {
        submit(&self.client, &self.stage, prompt).await
    }

    /// That the handler is not given anything more: what it is given next is of a later task.
    async fn assert_nothing_more(&mut self) {
        let task = self.submit("the last one").await;
        self.sim.clock().advance(SECOND);
        assert_eq!(self.stage.outcome().await.unwrap().task().id(), task.id());
        assert!(!self.stage.was_called());
    }
}

async fn simulator(webhooks: WebhookSettings) -> Simulator {
    Simulator::start(Config { webhooks, speed: 0.0, ..Config::default() }).await.unwrap()
}

fn client(sim: &Simulator) -> Client {
    Client::builder().api_key(sim.api_key()).base_url(sim.base_url()).build().unwrap()
}

/// The verifier for a scheme, by the simulator's clock.
fn verifier(sim: &Simulator, scheme: WebhookScheme) -> Verifier {
    match scheme {
        WebhookScheme::Secret => Verifier::shared_secret(SECRET),
        WebhookScheme::Standard => {
            let clock = sim.clock();
            Verifier::standard(SECRET).wall_clock(move || UNIX_EPOCH + clock.unix_now())
        }
        _ => Verifier::hmac_sha256(SECRET),
    }
}

async fn submit(client: &Client, stage: &Stage, prompt: &str) -> Task {
    let request =
        Gen2Flex::new(prompt).width(64).height(64).webhook_url(stage.url()).webhook_secret(SECRET);
    client.submit(request).await.unwrap()
}

/// The deliveries, once none of them waits any more.
async fn settled(sim: &Simulator) -> Vec<WebhookDelivery> {
    sim.webhooks_when(|all| all.iter().all(|delivery| delivery.state != WebhookState::Waiting))
        .await
}

/// Cause and status code of the last attempt.
fn ends(log: &[WebhookDelivery]) -> Vec<(WebhookCause, Option<u16>)> {
    log.iter().map(|delivery| (delivery.cause, delivery.attempts.last().unwrap().status)).collect()
}

#[tokio::test]
async fn every_scheme_is_verified_and_its_task_handed_over() {
    for scheme in SCHEMES {
        let mut house = House::with(scheme).await;
        let task = house.submit("a red fox").await;
        house.sim.clock().advance(SECOND);
        let picture = house.stage.outcome().await.unwrap();
        assert_eq!(picture.task(), task.reference(), "{scheme:?}");
        assert!(!picture.bytes().await.unwrap().is_empty());
        assert_eq!(
            ends(&settled(&house.sim).await),
            [(WebhookCause::Final, Some(204))],
            "{scheme:?}"
        );
    }
}

#[tokio::test]
async fn a_failed_task_is_handed_over_as_a_wait_would_return_it() {
    let mut house = House::with(WebhookScheme::default()).await;
    let task = house.submit("[[content-moderated]]").await;
    house.sim.clock().advance(SECOND);
    let error = house.stage.outcome().await.unwrap_err();
    assert!(error.is_moderated(), "{error}");
    assert_eq!(error.task(), Some(task.reference()));
}

#[tokio::test]
async fn a_forged_event_is_refused_and_the_true_one_counts() {
    for scheme in SCHEMES {
        let mut house = House::with(scheme).await;
        let task = house.submit("[[webhook-forged]]").await;
        house.sim.clock().advance(SECOND);
        assert_eq!(house.stage.outcome().await.unwrap().task(), task.reference());
        let expected = [(WebhookCause::Forgery, Some(401)), (WebhookCause::Final, Some(204))];
        assert_eq!(ends(&settled(&house.sim).await), expected, "{scheme:?}");
        house.assert_nothing_more().await;
    }
}

/// The deliveries of the simulator as they arrive, each with the reason for which it is refused.
#[tokio::test]
async fn a_server_of_ones_own_gets_typed_reasons() {
    for scheme in SCHEMES {
        let sim = simulator(WebhookSettings { scheme, ..WebhookSettings::default() }).await;
        let (client, verifier) = (client(&sim), verifier(&sim, scheme));
        let (sender, mut results) = mpsc::unbounded_channel();
        let take = move |headers: HeaderMap, body: Bytes| async move {
            sender.send(verifier.verify(&headers, &body)).unwrap();
            StatusCode::NO_CONTENT
        };
        let stage =
            Stage::serving(Router::new().route("/hook", post(take)), mpsc::unbounded_channel().1)
                .await;
        let task = submit(&client, &stage, "[[webhook-forged]]").await;
        sim.clock().advance(SECOND);
        let mut verified = Vec::new();
        for _ in 0..2 {
            match results.recv().await.unwrap() {
                Ok(event) => verified.push(event),
                Err(refusal) => {
                    assert!(matches!(refusal, Refusal::Wrong { .. }), "{scheme:?}: {refusal}")
                }
            }
        }
        let [event] = verified.as_slice() else { panic!("{scheme:?}: {verified:?}") };
        assert_eq!(event.message_id().is_some(), scheme == WebhookScheme::Standard);
        let update = client.confirm(event, task.reference()).await.unwrap();
        assert_eq!(update.status(), &TaskStatus::Ready);

        let unsigned = Gen2Flex::new("a fox").width(64).height(64).webhook_url(stage.url());
        let _ = client.submit(unsigned).await.unwrap();
        sim.clock().advance(SECOND);
        let refusal = results.recv().await.unwrap().unwrap_err();
        assert!(matches!(refusal, Refusal::Missing { .. }), "{scheme:?}: {refusal}");
    }
}

#[tokio::test]
async fn an_event_that_is_not_signed_is_refused() {
    for scheme in SCHEMES {
        let house = House::with(scheme).await;
        let request = Gen2Flex::new("a fox").width(64).height(64).webhook_url(house.stage.url());
        let _ = house.client.submit(request).await.unwrap();
        house.sim.clock().advance(SECOND);
        let log = house
            .sim
            .webhooks_when(|all| all[0].attempts.iter().any(|one| one.status.is_some()))
            .await;
        assert_eq!(log[0].attempts[0].status, Some(401), "{scheme:?}");
        assert!(!house.stage.was_called());
    }
}

#[tokio::test]
async fn a_duplicate_is_handed_over_once() {
    for scheme in SCHEMES {
        let mut house = House::with(scheme).await;
        let task = house.submit("[[webhook-duplicate]]").await;
        house.sim.clock().advance(SECOND);
        assert_eq!(house.stage.outcome().await.unwrap().task(), task.reference());
        let expected = [(WebhookCause::Final, Some(204)), (WebhookCause::Duplicate, Some(204))];
        assert_eq!(ends(&settled(&house.sim).await), expected, "{scheme:?}");
        house.assert_nothing_more().await;
    }
}

#[tokio::test]
async fn an_event_that_is_delivered_again_a_day_later_is_answered_and_ignored() {
    for scheme in SCHEMES {
        let mut house = House::with(scheme).await;
        let _ = house.submit("a fox").await;
        house.sim.clock().advance(SECOND);
        let _ = house.stage.outcome().await.unwrap();
        let log = settled(&house.sim).await;
        house.sim.clock().advance(DAY);
        house.sim.redeliver_webhook(log[0].id).unwrap();
        let log = settled(&house.sim).await;
        assert_eq!(ends(&log)[1], (WebhookCause::Redelivery, Some(204)), "{scheme:?}");
        assert_eq!(log[0].webhook_id, log[1].webhook_id);
        house.assert_nothing_more().await;
    }
}

/// Recorded, and sent again as it was: Standard Webhooks signs when it was sent, and the other
/// schemes do not.
#[tokio::test]
async fn a_recorded_delivery_is_too_old_a_day_later() {
    let house = House::with(WebhookScheme::Standard).await;
    let task = house.submit("a fox").await;
    let signer = standardwebhooks::Webhook::from_bytes(SECRET.as_bytes().to_vec()).unwrap();
    let sent_at = house.sim.clock().unix_now().as_secs() as i64;
    let body = format!(r#"{{"id":"{}","status":"Ready"}}"#, task.id());
    let signature = signer.sign("m1", sent_at, body.as_bytes()).unwrap();
    let recorded = headers(&[
        ("webhook-id", "m1"),
        ("webhook-timestamp", &sent_at.to_string()),
        ("webhook-signature", &signature),
    ]);
    let recorded: String = recorded
        .iter()
        .map(|(name, value)| format!("{name}: {}\r\n", value.to_str().unwrap()))
        .collect();
    house.sim.clock().advance(DAY);
    assert_eq!(house.stage.post("/hook", &recorded, &body).await, 401);
}

#[tokio::test]
async fn late_and_out_of_order_events_find_their_tasks() {
    for scheme in SCHEMES {
        let mut house = House::with(scheme).await;
        let late = house.submit("[[webhook-late=20]]").await;
        let held = house.submit("[[webhook-out-of-order]]").await;
        house.sim.clock().advance(SECOND);
        let later = house.submit("a later fox").await;
        house.sim.clock().advance(SECOND);
        let first_two =
            [house.stage.outcome().await.unwrap(), house.stage.outcome().await.unwrap()];
        for task in [&held, &later] {
            assert!(
                first_two.iter().any(|picture| picture.task() == task.reference()),
                "{scheme:?}"
            );
        }
        house.sim.clock().advance(20 * SECOND);
        assert_eq!(house.stage.outcome().await.unwrap().task(), late.reference());
    }
}

/// Refuses the first deliveries, as a server does that has just been started.
async fn refuse_the_first_two(count: Arc<AtomicUsize>, request: Request, next: Next) -> Response {
    match count.fetch_add(1, Ordering::Relaxed) {
        0 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        1 => StatusCode::BAD_GATEWAY.into_response(),
        _ => next.run(request).await,
    }
}

#[tokio::test]
async fn a_delivery_that_is_retried_is_verified() {
    for scheme in SCHEMES {
        let sim = simulator(WebhookSettings { scheme, ..WebhookSettings::default() }).await;
        let client = client(&sim);
        let count = Arc::new(AtomicUsize::new(0));
        let receiver = Receiver::new(client.clone(), verifier(&sim, scheme));
        let mut stage = Stage::behind(receiver, |router| {
            let refuse = middleware::from_fn(move |request, next| {
                refuse_the_first_two(Arc::clone(&count), request, next)
            });
            Router::new().nest("/hook", router).layer(refuse)
        })
        .await;
        let task = submit(&client, &stage, "a fox").await;
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
        assert_eq!(stage.outcome().await.unwrap().task(), task.reference(), "{scheme:?}");
        let log = settled(&sim).await;
        let statuses: Vec<_> =
            log[0].attempts.iter().map(|attempt| attempt.status.unwrap()).collect();
        assert_eq!(statuses, [500, 502, 204]);
    }
}
