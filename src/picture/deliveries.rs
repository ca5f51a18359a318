//! The state that a client needs to fetch pictures.

use std::time::Duration;

use super::Swept;
use crate::transport::{hosts::DeliveryRules, retry::RetryBudget};

/// The settings of downloads.
#[derive(Clone)]
pub(crate) struct DeliverySettings {
    pub(crate) max_picture_bytes: u64,
    /// The time limit for one picture, over all attempts.
    pub(crate) deadline: Duration,
}

impl Default for DeliverySettings {
    fn default() -> Self {
        Self { max_picture_bytes: 512 * 1024 * 1024, deadline: Duration::from_secs(3600) }
    }
}

pub(crate) struct Deliveries {
    pub(super) settings: DeliverySettings,
    pub(super) rules: DeliveryRules,
    pub(super) retries: RetryBudget,
    /// The directories in which leftover temporary files were deleted.
    pub(super) swept: Swept,
}

impl Deliveries {
    pub(crate) fn new(settings: DeliverySettings, rules: DeliveryRules) -> Self {
        Self { settings, rules, retries: RetryBudget::new(), swept: Swept::default() }
    }
}
