//! What the downloads of a client share.

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{Picture, Swept};
use crate::{
    Error, TaskRef,
    journal::Journal,
    retry::RetryBudget,
    transport::{hosts::DeliveryRules, service::Service},
};

/// The settings of downloads.
#[derive(Clone)]
pub(crate) struct DownloadSettings {
    pub(crate) max_picture_bytes: u64,
    /// The time limit for one picture, over all attempts.
    pub(crate) deadline: Duration,
}

impl Default for DownloadSettings {
    fn default() -> Self {
        Self { max_picture_bytes: 512 * 1024 * 1024, deadline: Duration::from_secs(3600) }
    }
}

pub(crate) struct Downloads {
    pub(super) service: Arc<Service>,
    pub(super) journal: Option<Arc<dyn Journal>>,
    pub(super) settings: DownloadSettings,
    pub(super) rules: DeliveryRules,
    pub(super) retries: RetryBudget,
    /// The directories in which leftover temporary files were deleted.
    pub(super) swept: Swept,
}

impl Downloads {
    pub(crate) fn new(
        service: Arc<Service>,
        journal: Option<Arc<dyn Journal>>,
        settings: DownloadSettings,
        rules: DeliveryRules,
    ) -> Self {
        let (retries, swept) = (RetryBudget::new(), Swept::default());
        Self { service, journal, settings, rules, retries, swept }
    }
}

/// The client that a picture comes from.
pub(crate) trait Source: Send + Sync {
    fn downloads(&self) -> &Downloads;

    /// Waits for the picture of a task again, whose delivery URL may be another one now.
    fn again(
        self: Arc<Self>,
        task: TaskRef,
        ready_since: SystemTime,
        deadline: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<Picture, Error>> + Send>>;
}
