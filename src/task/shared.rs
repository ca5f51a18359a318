//! What all tasks of a client share.

use std::{fmt, sync::Arc, time::Duration};

use tokio::sync::Semaphore;

use super::{drift::Drift, slots::Slots, submissions::Submissions, waits::Waits};
use crate::{
    Address, contract::WebhookDefaults, journal::Journal, picture::Downloads, retry::RetryBudget,
    transport::service::Service,
};

/// The settings of submissions and polls.
#[derive(Clone)]
pub(crate) struct TaskSettings {
    /// Whether requests are validated against the contract.
    pub(crate) validation: bool,
    pub(crate) max_concurrent_polls: usize,
    pub(crate) max_active_tasks: Option<usize>,
    pub(crate) submit_deadline: Option<Duration>,
    pub(crate) poll_deadline: Duration,
    pub(crate) webhook: WebhookDefaults,
    pub(crate) journal: Option<Arc<dyn Journal>>,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            validation: true,
            max_concurrent_polls: 64,
            max_active_tasks: None,
            submit_deadline: None,
            poll_deadline: Duration::from_secs(30),
            webhook: WebhookDefaults::default(),
            journal: None,
        }
    }
}

pub(crate) struct Shared {
    pub(crate) service: Arc<Service>,
    pub(super) downloads: Downloads,
    pub(super) settings: TaskSettings,
    pub(super) polls: Semaphore,
    pub(super) slots: Option<Slots>,
    pub(super) submission_retries: RetryBudget,
    pub(super) poll_retries: RetryBudget,
    pub(crate) waits: Arc<Waits>,
    pub(crate) submissions: Arc<Submissions>,
    pub(super) drift: Drift,
}

impl Shared {
    pub(crate) fn new(service: Arc<Service>, settings: TaskSettings, downloads: Downloads) -> Self {
        Self {
            service,
            downloads,
            polls: Semaphore::new(settings.max_concurrent_polls.min(Semaphore::MAX_PERMITS)),
            slots: settings.max_active_tasks.map(Slots::new),
            submission_retries: RetryBudget::new(),
            poll_retries: RetryBudget::new(),
            waits: Arc::default(),
            submissions: Arc::default(),
            drift: Drift::default(),
            settings,
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &Address::from(self.service.base_url.clone()))
            .field("key", self.service.key.text())
            .finish_non_exhaustive()
    }
}
