//! The client: what all requests of a program share.

use std::{fmt, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use url::Url;

use crate::{
    ClientBuilder, Error, ErrorKind, REGIONAL_BASE_URL_VARIABLE, Region, Task, TaskRef,
    contract::WebhookDefaults,
    journal::Journal,
    picture::Swept,
    task::{Slots, Submissions, Waits},
    transport::{
        clock::WallClock,
        connections::Connections,
        hooks::Hooks,
        hosts::{DeliveryRules, KeyOrigins},
        key::ApiKey,
        retry::{Random, RetryBudget},
    },
};

/// A client of the service. Cheap to clone: clones share connections, limits and retry budgets.
///
/// ```
/// use imagekiln::Client;
/// # fn main() -> Result<(), imagekiln::Error> {
/// let client = Client::builder()
///     .api_key("my key")
///     .base_url("https://api.example.com")
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) key: ApiKey,
    /// What the generated client adds to every submission.
    pub(crate) hooks: Hooks,
    pub(crate) base_url: Url,
    pub(crate) regional_url: Option<Url>,
    /// They follow no redirect, because a redirect would take the key along.
    pub(crate) connections: Connections,
    pub(crate) delivery: DeliveryRules,
    pub(crate) key_origins: KeyOrigins,
    pub(crate) validation: bool,
    pub(crate) silence: Duration,
    pub(crate) max_picture_bytes: u64,
    /// The directories in which leftover temporary files have been deleted.
    pub(crate) swept: Swept,
    pub(crate) polls: Semaphore,
    pub(crate) slots: Option<Slots>,
    pub(crate) submission_retries: RetryBudget,
    pub(crate) poll_retries: RetryBudget,
    pub(crate) download_retries: RetryBudget,
    pub(crate) random: Random,
    pub(crate) clock: WallClock,
    /// Sent with every request that names none of its own.
    pub(crate) webhook: WebhookDefaults,
    pub(crate) waits: Waits,
    pub(crate) submissions: Arc<Submissions>,
    pub(crate) journal: Option<Arc<dyn Journal>>,
}

impl Client {
    /// A builder with the settings' defaults, and nothing from the environment.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client with the settings of the environment: see [`ClientBuilder::from_env`].
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings), naming the variable that is missing or can't
    /// be used.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env()?.build()
    }

    /// Resumes a task, for instance one submitted by another process.
    ///
    /// Nothing is sent until it is polled.
    pub fn task(&self, reference: TaskRef) -> Task {
        Task::resumed(self.clone(), reference)
    }

    /// Resumes a task of which only the id is known: it is polled at `/v1/get_result` of the base
    /// address.
    pub fn task_by_id(&self, id: impl Into<String>) -> Task {
        self.task_at(&self.0.base_url, id.into())
    }

    /// As [`task_by_id`](Self::task_by_id), for a task that the address of this region took.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): no regional address is set.
    pub fn task_in(&self, region: Region, id: impl Into<String>) -> Result<Task, Error> {
        let base =
            self.base(region).ok_or_else(|| no_regional_address("no regional address is set"))?;
        Ok(self.task_at(base, id.into()))
    }

    fn task_at(&self, base: &Url, id: String) -> Task {
        let polling_url = result_url(base, &id);
        self.task(TaskRef::new(id, polling_url, None))
    }

    /// The address of a region, if it is set.
    pub(crate) fn base(&self, region: Region) -> Option<&Url> {
        match region {
            Region::Global => Some(&self.0.base_url),
            Region::Regional => self.0.regional_url.as_ref(),
        }
    }
}

pub(crate) fn no_regional_address(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, message).with_advice(format!(
        "set {REGIONAL_BASE_URL_VARIABLE}, or call ClientBuilder::regional_base_url"
    ))
}

/// Where a task is polled whose submission named no polling URL (operation `get_result` of the
/// contract).
pub(crate) fn result_url(base: &Url, id: &str) -> crate::Address {
    let mut url = base.clone();
    url.set_path(&format!("{}/v1/get_result", base.path().trim_end_matches('/')));
    url.query_pairs_mut().clear().append_pair("id", id);
    url.into()
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &crate::Address::from(self.0.base_url.clone()))
            .field("key", &self.0.key)
            .finish_non_exhaustive()
    }
}
