//! Sends the webhooks: one background task that sleeps until a delivery is due. The number of
//! concurrent attempts is limited, however many deliveries are pending.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::{
    sync::watch,
    task::{Id, JoinSet},
};

use super::{Webhooks, receiver::Origin};
use crate::http::outgoing::Tls;

/// The maximum number of concurrent attempts.
const MAX_ATTEMPTS: usize = 64;

/// The maximum number of concurrent attempts to one receiver, so that a slow one does not block
/// others.
const MAX_ATTEMPTS_PER_RECEIVER: usize = 8;

/// The due deliveries to one receiver.
#[derive(Default)]
struct ReceiverQueue {
    waiting: VecDeque<u64>,
    in_progress: usize,
}

struct Sender {
    webhooks: Arc<Webhooks>,
    queues: HashMap<Origin, ReceiverQueue>,
    attempts: JoinSet<Result<u16, String>>,
    /// The delivery of each attempt.
    in_progress: HashMap<Id, (u64, Origin)>,
    tls: Arc<Tls>,
}

/// Sends webhooks until `stop` is true, which aborts attempts in progress.
pub(crate) async fn run(webhooks: Arc<Webhooks>, mut stop: watch::Receiver<bool>) {
    let mut changes = webhooks.changes.subscribe();
    let mut sender = Sender {
        webhooks,
        queues: HashMap::new(),
        attempts: JoinSet::new(),
        in_progress: HashMap::new(),
        tls: Arc::default(),
    };
    loop {
        changes.mark_unchanged();
        sender.enqueue_due();
        while sender.start_one() {}
        let next = sender.webhooks.log().next_due();
        let clock = &sender.webhooks.clock;
        let due = async {
            match next {
                Some(moment) => clock.sleep_until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // An error means that the simulator was dropped, which also stops it.
            _ = stop.wait_for(|stop| *stop) => return,
            _ = changes.changed() => {}
            () = due => {}
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
        let mut log = self.webhooks.log();
        let now = self.webhooks.clock.now();
        while let Some((number, origin)) = log.take_due(now) {
            self.queues.entry(origin).or_default().waiting.push_back(number);
        }
    }

    /// Starts the next attempt, if there is one within the limits.
    fn start_one(&mut self) -> bool {
        if self.attempts.len() >= MAX_ATTEMPTS {
            return false;
        }
        let mut free = self
            .queues
            .iter_mut()
            .filter(|(_, queue)| queue.in_progress < MAX_ATTEMPTS_PER_RECEIVER);
        let Some((origin, queue, number)) = free.find_map(|(origin, queue)| {
            queue.waiting.pop_front().map(|number| (origin, queue, number))
        }) else {
            return false;
        };
        if let Some(post) = self.webhooks.begin(number) {
            queue.in_progress += 1;
            let tls = Arc::clone(&self.tls);
            let sending = async move { post.send(&tls).await.map(|status| status.as_u16()) };
            let id = self.attempts.spawn(sending).id();
            self.in_progress.insert(id, (number, origin.clone()));
        }
        true
    }

    fn ended(&mut self, id: Id, response: Result<u16, String>) {
        let Some((number, origin)) = self.in_progress.remove(&id) else { return };
        if let Some(queue) = self.queues.get_mut(&origin) {
            queue.in_progress = queue.in_progress.saturating_sub(1);
            if queue.in_progress == 0 && queue.waiting.is_empty() {
                self.queues.remove(&origin);
            }
        }
        self.webhooks.end(number, response);
    }
}
