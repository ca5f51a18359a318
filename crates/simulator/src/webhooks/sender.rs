//! Signs and sends webhooks, in one background task that sleeps until a delivery is due. However
//! many deliveries are pending, only a limited number of attempts runs at the same time.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::Bytes,
    http::{HeaderName, HeaderValue, Request, header},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::{BodyExt as _, Limited};
use sha2::Sha256;
use tokio::{
    sync::watch,
    task::{Id, JoinSet},
    time::{Instant, timeout_at},
};
use url::Origin;

use super::{WebhookScheme, WebhookSettings, Webhooks};
use crate::{http::outgoing::Target, runtime::chance::hex};

/// The maximum number of concurrent attempts, if each is to a different receiver.
const MAX_ATTEMPTS: usize = 256;

/// The maximum number of concurrent attempts to the same receiver.
const MAX_ATTEMPTS_PER_RECEIVER: usize = 8;

/// From this number of concurrent attempts on, only receivers without an attempt in progress get
/// one. So a few receivers that never respond cannot keep the others waiting.
const MAX_ATTEMPTS_WITH_SEVERAL: usize = 64;

/// The maximum number of bytes of a response's body to read and discard.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Sends a webhook. Returns the status code of the response, or a problem, whose text contains no
/// part of the URL.
async fn send(
    webhooks: &Webhooks,
    (target, headers, body): (Target, Headers, Bytes),
) -> Result<u16, String> {
    let mut request = Request::post("/").header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let limit = webhooks.settings.timeout;
    let deadline = Instant::now() + limit;
    let response = webhooks.client.send(&target, request, body);
    let response = timeout_at(deadline, response)
        .await
        .map_err(|_| format!("no response within {} s", limit.as_secs_f64()))??;
    // Read the body, so that the receiver can finish its response. It does not matter what the body
    // contains, and whether it is complete.
    let body = Limited::new(response.body, MAX_RESPONSE_BYTES);
    drop(timeout_at(deadline, body.collect()).await);
    Ok(response.status.as_u16())
}

/// The due deliveries to one receiver, each with the time at which it became due.
#[derive(Default)]
struct ReceiverQueue {
    waiting: VecDeque<(Duration, u64)>,
    in_progress: usize,
}

impl ReceiverQueue {
    /// The rank of this receiver, whose next delivery is sent if no other receiver ranks lower. The
    /// receivers with the fewest attempts in progress come first, then those that have waited
    /// longest. `None` if no delivery to this receiver can be sent while there are `attempts` in
    /// total.
    fn rank(&self, attempts: usize) -> Option<(usize, (Duration, u64))> {
        let has_room = match self.in_progress {
            0 => attempts < MAX_ATTEMPTS,
            some => some < MAX_ATTEMPTS_PER_RECEIVER && attempts < MAX_ATTEMPTS_WITH_SEVERAL,
        };
        self.waiting.front().filter(|_| has_room).map(|first| (self.in_progress, *first))
    }
}

struct Sender {
    webhooks: Arc<Webhooks>,
    queues: HashMap<Origin, ReceiverQueue>,
    attempts: JoinSet<Result<u16, String>>,
    /// The number of the delivery, and the receiver, of each attempt in progress.
    in_progress: HashMap<Id, (u64, Origin)>,
}

/// Sends webhooks until `stop` becomes true, and then aborts the attempts in progress.
pub(crate) async fn run(webhooks: Arc<Webhooks>, mut stop: watch::Receiver<bool>) {
    let mut changes = webhooks.changes.subscribe();
    let mut sender = Sender {
        webhooks,
        queues: HashMap::new(),
        attempts: JoinSet::new(),
        in_progress: HashMap::new(),
    };
    loop {
        changes.mark_unchanged();
        sender.enqueue_due();
        while sender.start_one() {}
        let next = sender.webhooks.log.lock().next_due();
        let clock = &sender.webhooks.clock;
        tokio::select! {
            // An error means that the simulator was dropped, which stops the sender, too.
            _ = stop.wait_for(|stop| *stop) => return,
            _ = changes.changed() => {}
            () = clock.sleep_until(next.unwrap_or_default()), if next.is_some() => {}
            Some(ended) = sender.attempts.join_next_with_id() => match ended {
                Ok((id, response)) => sender.ended(id, response),
                Err(error) => {
                    let problem = "an internal error of the simulator";
                    sender.ended(error.id(), Err(problem.to_owned()));
                }
            },
        }
    }
}

impl Sender {
    fn enqueue_due(&mut self) {
        let mut log = self.webhooks.log.lock();
        let now = self.webhooks.clock.now();
        while let Some((delivery, origin)) = log.take_due(now) {
            self.queues.entry(origin).or_default().waiting.push_back(delivery);
        }
    }

    /// Starts the next attempt, if there is one that the limits allow. Returns whether it did.
    fn start_one(&mut self) -> bool {
        let attempts = self.attempts.len();
        let ranked = self
            .queues
            .iter_mut()
            .filter_map(|(origin, queue)| queue.rank(attempts).map(|rank| (rank, origin, queue)));
        let Some(((_, (_, number)), origin, queue)) = ranked.min_by_key(|(rank, ..)| *rank) else {
            return false;
        };
        queue.waiting.pop_front();
        if let Some(message) = self.webhooks.begin(number) {
            queue.in_progress += 1;
            let webhooks = Arc::clone(&self.webhooks);
            let attempt = async move { send(&webhooks, message).await };
            let id = self.attempts.spawn(attempt).id();
            self.in_progress.insert(id, (number, origin.clone()));
        }
        true
    }

    fn ended(&mut self, id: Id, response: Result<u16, String>) {
        let Some((number, origin)) = self.in_progress.remove(&id) else { return };
        if let Some(queue) = self.queues.get_mut(&origin) {
            queue.in_progress = queue.in_progress.saturating_sub(1);
        }
        self.queues.retain(|_, queue| queue.in_progress > 0 || !queue.waiting.is_empty());
        self.webhooks.end(number, response);
    }
}

/// The prefix of a secret that Standard Webhooks encodes in base64.
const STANDARD_PREFIX: &str = "whsec_";

/// Those headers of an attempt that are not the same for all webhooks.
pub(super) type Headers = Vec<(HeaderName, HeaderValue)>;

/// The secret of a request, in the form that the signature scheme needs.
#[derive(Clone)]
pub(super) enum SigningKey {
    /// The request has no secret.
    None,
    Keyed(Hmac<Sha256>),
    Verbatim(HeaderValue),
}

impl SigningKey {
    /// Prepares a secret. An empty secret counts as none.
    pub(super) fn new(scheme: WebhookScheme, secret: Option<&str>) -> Result<Self, &'static str> {
        let Some(secret) = secret.filter(|secret| !secret.is_empty()) else {
            return Ok(Self::None);
        };
        let keyed = |key: &[u8]| {
            Hmac::new_from_slice(key)
                .map(Self::Keyed)
                .map_err(|_| "the secret cannot be used as a key")
        };
        match scheme {
            WebhookScheme::HmacSha256 => keyed(secret.as_bytes()),
            WebhookScheme::Secret => {
                let mut value = HeaderValue::from_str(secret).map_err(
                    |_| "the secret contains characters that are not allowed in a header",
                )?;
                value.set_sensitive(true);
                Ok(Self::Verbatim(value))
            }
            WebhookScheme::Standard => {
                let decoded = secret
                    .strip_prefix(STANDARD_PREFIX)
                    .and_then(|text| STANDARD.decode(text).ok());
                keyed(&decoded.unwrap_or_else(|| secret.as_bytes().to_vec()))
            }
        }
    }

    /// Creates the headers of an attempt at the Unix time `timestamp`. The secret itself is marked
    /// as sensitive, but a signature may be shown.
    pub(super) fn headers(
        &self,
        settings: &WebhookSettings,
        webhook_id: &str,
        timestamp: u64,
        body: &[u8],
    ) -> Headers {
        let value = |text: String| HeaderValue::try_from(text).ok();
        let named = |name| Some(HeaderName::from_static(name));
        let mut headers = Vec::new();
        if settings.scheme == WebhookScheme::Standard {
            headers.push((named("webhook-id"), value(webhook_id.to_owned())));
            headers.push((named("webhook-timestamp"), Some(timestamp.into())));
        }
        headers.push(match (self, settings.scheme) {
            (Self::None, _) => (None, None),
            (Self::Verbatim(secret), _) => (settings.header_name(), Some(secret.clone())),
            (Self::Keyed(key), WebhookScheme::Standard) => {
                let signed = [format!("{webhook_id}.{timestamp}.").as_bytes(), body].concat();
                let signature = format!("v1,{}", STANDARD.encode(mac(key, &signed)));
                (named("webhook-signature"), value(signature))
            }
            (Self::Keyed(key), _) => {
                (settings.header_name(), value(format!("sha256={}", hex(&mac(key, body)))))
            }
        });
        headers.into_iter().filter_map(|(name, value)| name.zip(value)).collect()
    }
}

fn mac(key: &Hmac<Sha256>, message: &[u8]) -> [u8; 32] {
    key.clone().chain_update(message).finalize().into_bytes().into()
}
