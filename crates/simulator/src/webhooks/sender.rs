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
use url::{Origin, Url};

use super::{WebhookScheme, WebhookSettings, Webhooks};
use crate::{runtime::chance::hex, values::secret::Secret};

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
    (url, headers, body): (Url, Headers, Bytes),
) -> Result<u16, String> {
    let mut request = Request::post("/").header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let limit = webhooks.settings.timeout;
    let deadline = Instant::now() + limit;
    let response = webhooks.client.send(&url, request, body);
    let response = timeout_at(deadline, response)
        .await
        .map_err(|_| format!("no response within {} s", limit.as_secs_f64()))??;
    // Read the body, so that the receiver can finish its response. It does not matter what the body
    // contains, and whether it is complete.
    let body = Limited::new(response.body, MAX_RESPONSE_BYTES);
    drop(timeout_at(deadline, body.collect()).await);
    Ok(response.head.status.as_u16())
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

/// Creates the headers of an attempt at the Unix time `timestamp`. An empty secret counts as none.
/// The secret itself is marked as sensitive, but a signature may be shown.
pub(super) fn headers(
    settings: &WebhookSettings,
    secret: Option<&Secret<String>>,
    webhook_id: &str,
    timestamp: u64,
    body: &[u8],
) -> Result<Headers, &'static str> {
    let value = |text: &str| {
        let problem = "the secret contains characters that are not allowed in a header";
        HeaderValue::from_str(text).map_err(|_| problem)
    };
    let mut headers = Vec::new();
    if settings.scheme == WebhookScheme::Standard {
        headers.push((HeaderName::from_static("webhook-id"), value(webhook_id)?));
        headers.push((HeaderName::from_static("webhook-timestamp"), timestamp.into()));
    }
    let Some(secret) = secret.map(Secret::expose).filter(|secret| !secret.is_empty()) else {
        return Ok(headers);
    };
    let (name, signature) = match settings.scheme {
        WebhookScheme::HmacSha256 => {
            let signature = hex(&mac(secret.as_bytes(), body)?);
            (settings.header_name(), value(&format!("sha256={signature}"))?)
        }
        WebhookScheme::Secret => {
            let mut secret = value(secret)?;
            secret.set_sensitive(true);
            (settings.header_name(), secret)
        }
        WebhookScheme::Standard => {
            let decoded =
                secret.strip_prefix(STANDARD_PREFIX).and_then(|text| STANDARD.decode(text).ok());
            let key = decoded.unwrap_or_else(|| secret.as_bytes().to_vec());
            let signed = [format!("{webhook_id}.{timestamp}.").as_bytes(), body].concat();
            let signature = STANDARD.encode(mac(&key, &signed)?);
            let name = HeaderName::from_static("webhook-signature");
            (Some(name), value(&format!("v1,{signature}"))?)
        }
    };
    headers.extend(name.map(|name| (name, signature)));
    Ok(headers)
}

fn mac(key: &[u8], message: &[u8]) -> Result<[u8; 32], &'static str> {
    let key =
        Hmac::<Sha256>::new_from_slice(key).map_err(|_| "the secret cannot be used as a key")?;
    Ok(key.chain_update(message).finalize().into_bytes().into())
}
