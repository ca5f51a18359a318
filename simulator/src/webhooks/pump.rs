//! What sends the webhooks: one background task, which sleeps until a delivery is due, and no more
//! attempts at once than the bounds below, however many deliveries wait.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::{Id, JoinSet};

use super::Webhooks;
use super::post::Tls;
use super::receiver::Origin;

/// Attempts under way.
const MAX_ATTEMPTS: usize = 64;

/// Attempts under way to one receiver, so that a slow one leaves room for others.
const MAX_ATTEMPTS_PER_RECEIVER: usize = 8;

/// Deliveries that are due, by receiver.
#[derive(Default)]
struct Line {
    waiting: VecDeque<u64>,
    under_way: usize,
}

struct Pump {
    webhooks: Arc<Webhooks>,
    lines: HashMap<Origin, Line>,
    attempts: JoinSet<Result<u16, String>>,
    /// Which delivery an attempt is for.
    under_way: HashMap<Id, (u64, Origin)>,
    tls: Arc<Tls>,
}

/// Sends webhooks until `stop` says so; then attempts under way are broken off.
pub(crate) async fn run(webhooks: Arc<Webhooks>, mut stop: watch::Receiver<bool>) {
    let mut changes = webhooks.changes.subscribe();
    let mut pump = Pump {
        webhooks,
        lines: HashMap::new(),
        attempts: JoinSet::new(),
        under_way: HashMap::new(),
        tls: Arc::default(),
    };
    loop {
        changes.mark_unchanged();
        pump.line_up();
        while pump.start_one() {}
        let next = pump.webhooks.ledger().next_due();
        let clock = &pump.webhooks.clock;
        let due = async {
            match next {
                Some(moment) => clock.sleep_until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // An error means that the simulator is gone, which is a stop too.
            _ = stop.wait_for(|stop| *stop) => return,
            _ = changes.changed() => {}
            () = due => {}
            Some(ended) = pump.attempts.join_next_with_id() => match ended {
                Ok((id, answer)) => pump.ended(id, answer),
                Err(error) => pump.ended(error.id(), Err("a fault of the simulator".to_owned())),
            },
        }
    }
}

impl Pump {
    fn line_up(&mut self) {
        let mut ledger = self.webhooks.ledger();
        let now = self.webhooks.clock.now();
        while let Some((number, origin)) = ledger.take_due(now) {
            self.lines.entry(origin).or_default().waiting.push_back(number);
        }
    }

    /// Starts the next attempt, if there is one that the bounds allow.
    fn start_one(&mut self) -> bool {
        if self.attempts.len() >= MAX_ATTEMPTS {
            return false;
        }
        let mut free =
            self.lines.iter_mut().filter(|(_, line)| line.under_way < MAX_ATTEMPTS_PER_RECEIVER);
        let Some((origin, line, number)) = free.find_map(|(origin, line)| {
            line.waiting.pop_front().map(|number| (origin, line, number))
        }) else {
            return false;
        };
        if let Some(post) = self.webhooks.begin(number) {
            line.under_way += 1;
            let tls = Arc::clone(&self.tls);
            let sending = async move { post.send(&tls).await.map(|status| status.as_u16()) };
            let id = self.attempts.spawn(sending).id();
            self.under_way.insert(id, (number, origin.clone()));
        }
        true
    }

    fn ended(&mut self, id: Id, answer: Result<u16, String>) {
        let Some((number, origin)) = self.under_way.remove(&id) else { return };
        if let Some(line) = self.lines.get_mut(&origin) {
            line.under_way = line.under_way.saturating_sub(1);
            if line.under_way == 0 && line.waiting.is_empty() {
                self.lines.remove(&origin);
            }
        }
        self.webhooks.end(number, answer);
    }
}
