//! A simulator with a client and a receiver for its webhooks.

use std::time::{Duration, UNIX_EPOCH};

use super::{signed::SECRET, test_receiver::TestReceiver};
use imagekiln::{
    Client, Task,
    types::Gen2Flex,
    webhook::{Receiver, Verifier},
};
use imagekiln_simulator::{
    Config, Simulator, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings, WebhookState,
};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const DAY: Duration = Duration::from_secs(86_400);

pub(super) const SCHEMES: [WebhookScheme; 3] =
    [WebhookScheme::HmacSha256, WebhookScheme::Secret, WebhookScheme::Standard];

/// A simulator with a stopped clock, its client, and a receiver.
pub(super) struct Simulation {
    pub(super) sim: Simulator,
    pub(super) client: Client,
    pub(super) receiver: TestReceiver,
}

impl Simulation {
    pub(super) async fn with(scheme: WebhookScheme) -> Self {
        let webhooks = WebhookSettings { scheme, ..WebhookSettings::default() };
        let sim = simulator(webhooks).await;
        let client = client(&sim);
        let receiver =
            TestReceiver::of(Receiver::new(client.clone(), verifier(&sim, scheme))).await;
        Self { sim, client, receiver }
    }

    pub(super) async fn submit(&self, prompt: &str) -> Task {
        submit(&self.client, &self.receiver, prompt).await
    }

    /// Asserts that the handler receives nothing but the outcome of a later task.
    pub(super) async fn assert_nothing_more(&mut self) {
        let task = self.submit("the last one").await;
        self.sim.clock().advance(SECOND);
        assert_eq!(self.receiver.outcome().await.unwrap().task().id(), task.id());
        assert!(!self.receiver.was_called());
    }
}

pub(super) async fn simulator(webhooks: WebhookSettings) -> Simulator {
    Simulator::start(Config { webhooks, speed: 0.0, ..Config::default() }).await.unwrap()
}

pub(super) fn client(sim: &Simulator) -> Client {
    Client::builder().api_key(sim.api_key()).base_url(sim.base_url()).build().unwrap()
}

/// The verifier for a scheme, with the simulator's clock.
pub(super) fn verifier(sim: &Simulator, scheme: WebhookScheme) -> Verifier {
    match scheme {
        WebhookScheme::Secret => Verifier::shared_secret(SECRET),
        WebhookScheme::Standard => {
            let clock = sim.clock();
            Verifier::standard(SECRET).wall_clock(move || UNIX_EPOCH + clock.unix_now())
        }
        _ => Verifier::hmac_sha256(SECRET),
    }
}

pub(super) async fn submit(client: &Client, receiver: &TestReceiver, prompt: &str) -> Task {
    let request = Gen2Flex::new(prompt)
        .width(64)
        .height(64)
        .webhook_url(receiver.url())
        .webhook_secret(SECRET);
    client.submit(request).await.unwrap()
}

/// Returns the deliveries once none is waiting.
pub(super) async fn settled(sim: &Simulator) -> Vec<WebhookDelivery> {
    sim.webhooks_when(|all| all.iter().all(|delivery| delivery.state != WebhookState::Waiting))
        .await
}

/// Returns the cause and the last status code of each delivery.
pub(super) fn ends(log: &[WebhookDelivery]) -> Vec<(WebhookCause, Option<u16>)> {
    log.iter().map(|delivery| (delivery.cause, delivery.attempts.last().unwrap().status)).collect()
}
