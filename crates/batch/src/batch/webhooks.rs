//! The settings of a batch for webhooks.

use std::{sync::Arc, time::Duration};

use super::Batch;
use crate::Callbacks;

impl Batch {
    /// Gives each submission a webhook URL: `url` followed by a token. Receive the webhooks
    /// with [`callbacks`](Self::callbacks), and sign them with
    /// [`ClientBuilder::webhook_secret`](imagekiln::ClientBuilder::webhook_secret).
    ///
    /// A webhook ends the wait for its task. It also brings the task of a job whose response was
    /// lost: as soon as a poll has confirmed that the task exists, the
    /// [`Unknown`](crate::JobState::Unknown) job becomes [`Submitted`](crate::JobState::Submitted),
    /// whatever the webhook says about the task. A run [waits](Self::callback_patience) for such
    /// webhooks.
    ///
    /// Requests with their own `webhook_url`, and operations without webhooks, are not changed.
    pub fn callback_url(mut self, url: impl Into<String>) -> Self {
        self.settings.callback_url = Some(url.into());
        self
    }

    /// Sets how long after its submission a run waits for the webhook of a job that is
    /// [`Unknown`](crate::JobState::Unknown). The default is ten minutes.
    ///
    /// A run waits only if this process can receive webhooks: as long as a value exists that
    /// [`callbacks`](Self::callbacks) has returned.
    pub fn callback_patience(mut self, patience: Duration) -> Self {
        self.settings.callback_patience = patience;
        self
    }

    /// Returns the receiver of the webhooks of [`callback_url`](Self::callback_url).
    pub fn callbacks(&self) -> Callbacks {
        Callbacks::new(self.client.clone(), self.ledger.clone(), Arc::clone(&self.receivers))
    }
}
