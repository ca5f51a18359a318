//! Tasks, from their submission to their final status.

mod acceptance;
mod exchange;
mod failures;
mod limit;
mod options;
mod outage;
mod poll;
mod polling;
mod schedule;
#[cfg(test)]
mod schedule_laws;
mod schedules;
mod slots;
#[cfg_attr(not(feature = "webhook"), expect(dead_code, reason = "only webhooks look up tasks"))]
mod submissions;
mod submit;
mod wait;
mod waits;

use std::{
    fmt,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, SystemTime},
};

use tokio::{sync::Semaphore, time::Instant};

pub use self::acceptance::SubmissionResponse;
#[cfg(feature = "webhook")]
pub(crate) use self::acceptance::{WRAPPERS, id_text};
pub(crate) use self::failures::failure;
pub use self::options::{SubmitOptions, WaitOptions};
pub use self::outage::Outcomes;
pub use self::poll::Update;
pub use self::schedules::Durations;
pub use self::slots::Slot;
#[cfg(feature = "axum")]
pub(crate) use self::submissions::Recent;
pub use self::wait::Updates;
use self::{schedules::Schedules, slots::Slots, submissions::Submissions, waits::Waits};
use crate::{
    Address, TaskRef,
    contract::{Drift, WebhookDefaults},
    journal::Journal,
    picture::Downloads,
    retry::RetryBudget,
    transport::{redaction::Learned, service::Service},
    values::{Moment, REDACTED},
};

/// A task that the service has accepted and billed.
///
/// Dropping a `Task` does not cancel the task at the service. To resume the task, pass its
/// [`reference`](Self::reference) to [`Client::task`](crate::Client::task).
#[derive(Debug, Clone)]
#[must_use = "the task is billed: wait for it, or keep its reference"]
pub struct Task {
    shared: Arc<Shared>,
    reference: Arc<TaskRef>,
    /// `None` for a resumed task.
    submitted: Option<Arc<Submitted>>,
    /// When the task was first seen as `Ready`, if the program knows it.
    pub(crate) ready_since: Option<Moment>,
    /// Whether the task was paid with a different key than that of this client.
    pub(crate) has_other_key: bool,
}

/// What the client that submitted a task knows about it.
#[derive(Debug)]
struct Submitted {
    response: Option<SubmissionResponse>,
    /// The name of the work of the task, if the request sets fields that change its duration.
    work: Option<String>,
    /// When the client received the acceptance.
    accepted: Instant,
    /// Whether the request asks for a webhook.
    expects_event: bool,
    /// The secrets of the request. As long as the task exists, the client redacts them in poll
    /// responses.
    _secrets: Arc<Learned>,
}

impl Task {
    pub(crate) fn resumed(shared: Arc<Shared>, reference: TaskRef) -> Self {
        Self {
            shared,
            reference: Arc::new(reference),
            submitted: None,
            ready_since: None,
            has_other_key: false,
        }
    }

    /// The time since the service accepted the task, if it is known.
    fn age(&self) -> Option<Duration> {
        self.submitted.as_ref().map(|submitted| submitted.accepted.elapsed()).or_else(|| {
            let now = self.shared.service.clock.now();
            Some(now.duration_since(self.reference.submitted_at()?).unwrap_or_default())
        })
    }

    fn work(&self) -> Option<&str> {
        self.submitted.as_ref()?.work.as_deref()
    }

    fn expects_event(&self) -> bool {
        self.submitted.as_ref().is_some_and(|submitted| submitted.expects_event)
    }

    /// Sets when the task was first seen as `Ready`, for programs that have stored
    /// [`Picture::ready_since`](crate::Picture::ready_since) of an earlier poll.
    ///
    /// Pictures of this task [expire](crate::Picture::expires_at) ten minutes after this time.
    /// Without it, or if the poll that returned the picture was sent earlier, a picture expires ten
    /// minutes after that poll. People and programs can set the clock of a machine, so this time
    /// does not prove that a picture has expired: it never changes the error of a refused download
    /// to [`Expired`](crate::ErrorKind::Expired).
    pub fn ready_since(self, time: SystemTime) -> Self {
        let moment = Moment { at: time, date: None, instant: None };
        Self { ready_since: Some(moment), ..self }
    }

    /// Returns the serializable reference, from which another process can resume the task.
    pub fn reference(&self) -> &TaskRef {
        &self.reference
    }

    /// Returns the id of the task.
    pub fn id(&self) -> &str {
        self.reference.id()
    }

    /// Returns the cost of the submission in credits, if the service reported it.
    pub fn cost(&self) -> Option<f64> {
        self.reference.cost()
    }

    /// Returns the complete response to the submission. `None` for a resumed task.
    pub fn response(&self) -> Option<&SubmissionResponse> {
        self.submitted.as_ref()?.response.as_ref()
    }
}

/// The settings of submissions and polls.
#[derive(Clone)]
pub(crate) struct TaskSettings {
    /// Whether requests are validated against the contract.
    pub(crate) validation: bool,
    pub(crate) max_concurrent_polls: usize,
    pub(crate) max_active: Option<usize>,
    pub(crate) submit_deadline: Option<Duration>,
    pub(crate) poll_deadline: Duration,
    pub(crate) webhook: WebhookDefaults,
    pub(crate) journal: Option<Arc<dyn Journal>>,
    /// What an earlier client knew about the durations of tasks.
    pub(crate) durations: Durations,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            validation: true,
            max_concurrent_polls: 64,
            max_active: None,
            submit_deadline: None,
            poll_deadline: Duration::from_secs(30),
            webhook: WebhookDefaults::default(),
            journal: None,
            durations: Durations::default(),
        }
    }
}

/// The state that all clones of a client share with their tasks and pictures.
pub(crate) struct Shared {
    pub(crate) service: Arc<Service>,
    downloads: Downloads,
    pub(crate) settings: TaskSettings,
    polls: Semaphore,
    slots: Arc<Slots>,
    submission_retries: RetryBudget,
    poll_retries: RetryBudget,
    pub(crate) waits: Arc<Waits>,
    pub(crate) submissions: Arc<Submissions>,
    drift: Drift,
    /// Whether the service has accepted the key for any submission or poll of this client.
    has_answered: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        service: Arc<Service>,
        mut settings: TaskSettings,
        downloads: Downloads,
    ) -> Self {
        let schedules = Schedules::default();
        let handles_outages = settings.journal.as_ref().is_some_and(|it| it.handles_outages());
        schedules.add(&service.base_url, std::mem::take(&mut settings.durations));
        Self {
            service,
            downloads,
            polls: Semaphore::new(settings.max_concurrent_polls.min(Semaphore::MAX_PERMITS)),
            slots: Arc::new(Slots::new(settings.max_active, handles_outages)),
            submission_retries: RetryBudget::new(),
            poll_retries: RetryBudget::new(),
            waits: Arc::new(Waits::new(schedules)),
            submissions: Arc::default(),
            drift: Drift::default(),
            has_answered: AtomicBool::new(false),
            settings,
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &Address::from(self.service.base_url.clone()))
            .field("key", &format_args!("{REDACTED}"))
            .finish_non_exhaustive()
    }
}
