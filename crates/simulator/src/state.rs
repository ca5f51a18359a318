//! The state that all requests share: the contract, the keys, the tasks, the clock.
//!
//! The mutable state is behind one lock, which is never held across an await. The locks of faults
//! and webhooks may be taken while it is held, but not the other way round.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard},
    time::Duration,
};

use axum::body::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};

use crate::{
    billing::accounts::{Accounts, Actor, OrganizationView, ProjectRef},
    config::Config,
    contract::{Contract, Region},
    error::StartError,
    faults::{FaultState, Faults},
    http::signed_url::Signer,
    journal::Journal,
    request::fetch::Fetcher,
    runtime::{
        Lock,
        chance::Chance,
        clock::{Clock, Shift},
        workers::{SingleFlight, WorkerPool},
    },
    tasks::{
        Counts, Retention, Tasks,
        lateness::{Lateness, Measurements},
    },
    webhooks::Webhooks,
};

/// How many bodies of the maximum size there may be at once.
const MAX_LARGE_BODIES: usize = 2;

pub(crate) struct AppState {
    pub(crate) config: Config,
    pub(crate) contract: Arc<Contract>,
    pub(crate) chance: Chance,
    pub(crate) clock: Clock,
    pub(crate) signer: Signer,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) journal: Journal,
    pub(crate) faults: Faults,
    /// Validates requests, separately so that they do not wait for pictures to be rendered.
    pub(crate) readers: WorkerPool,
    /// Fetches images that are given by their URLs, if the settings allow it.
    pub(crate) fetcher: Option<Arc<Fetcher>>,
    /// Renders pictures. Requests for a picture that is being rendered wait for it.
    pub(crate) painters: SingleFlight<Option<Bytes>>,
    /// The bytes that request bodies may take together.
    pub(crate) bodies: Arc<Semaphore>,
    /// Becomes `true` when the simulator stops, which ends the event streams.
    pub(crate) stopped: watch::Receiver<bool>,
    /// The base URLs: the global and the regional one.
    bases: [String; 2],
    records: Lock<Records>,
}

/// What requests change.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Records {
    pub(crate) tasks: Tasks,
    pub(crate) accounts: Accounts,
    pub(crate) lateness: Measurements,
    pub(crate) polls: u64,
    pub(crate) delivered: u64,
    pub(crate) refused: BTreeMap<u16, u64>,
    /// How often everything was replaced, by a reset or a snapshot. Ids of tasks repeat then.
    #[serde(skip)]
    pub(crate) resets: u64,
}

impl Records {
    fn new(config: &Config, clock: &Clock) -> Result<Self, StartError> {
        let (organizations, unix) = (config.organizations.clone(), clock.unix_now());
        let accounts = Accounts::new(organizations, &config.api_keys, unix)?;
        Ok(Self { accounts, tasks: Tasks::new(retention(config)), ..Self::default() })
    }

    /// Moves the times of tasks and of what they train.
    pub(crate) fn move_times(&mut self, times: Shift) {
        self.tasks.move_times(times);
        self.accounts.move_times(times);
    }
}

impl AppState {
    pub(crate) fn new(
        config: Config,
        contract: Arc<Contract>,
        bases: [String; 2],
        own_ports: Vec<u16>,
        stopped: watch::Receiver<bool>,
    ) -> Result<Self, StartError> {
        let chance = Chance::new(config.seed.map_or(0, |seed| *seed.expose()));
        let clock = Clock::start(config.speed);
        let records = Records::new(&config, &clock)?;
        Ok(Self {
            fetcher: Fetcher::new(config.fetch_images, own_ports.clone(), config.max_body_bytes)
                .map(Arc::new),
            signer: Signer::new(chance),
            webhooks: Arc::new(Webhooks::new(
                config.webhooks.clone(),
                clock.clone(),
                chance,
                own_ports,
            )),
            journal: Journal::new(config.max_kept_requests),
            faults: Faults::with_rules(chance, clock.clone(), &config.faults)?,
            clock,
            readers: WorkerPool::new(),
            painters: SingleFlight::new(WorkerPool::new()),
            bodies: Arc::new(Semaphore::new(
                config.max_body_bytes.saturating_mul(MAX_LARGE_BODIES).min(Semaphore::MAX_PERMITS),
            )),
            records: Lock::new(records),
            config,
            contract,
            chance,
            stopped,
            bases,
        })
    }

    pub(crate) fn base(&self, region: Region) -> &str {
        let [global, regional] = &self.bases;
        match region {
            Region::Global => global,
            Region::Regional => regional,
        }
    }

    /// Locks the records. The guard must not be held across an await.
    pub(crate) fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock()
    }

    /// Returns to the state after the start, except for the time of the clock.
    ///
    /// # Errors
    ///
    /// None: the settings were valid at the start.
    pub(crate) fn reset(&self) -> Result<(), StartError> {
        let fresh = Records::new(&self.config, &self.clock)?;
        let clock = self.clock.clone();
        let faults = Faults::with_rules(self.chance, clock, &self.config.faults)?.snapshot();
        let now = self.clock.unix_now();
        self.replace(fresh, now, faults, self.config.speed);
        Ok(())
    }

    /// Replaces what requests have changed by records whose times are relative to `made_at`, and
    /// forgets the journal and the webhooks.
    pub(crate) fn replace(
        &self,
        mut fresh: Records,
        made_at: Duration,
        faults: FaultState,
        speed: f64,
    ) {
        let mut records = self.records();
        self.clock.set_speed(speed);
        let now = self.clock.unix_now();
        fresh.move_times(Shift { from: made_at, to: now });
        fresh.tasks.index(now, retention(&self.config), |region| self.base(region).to_owned());
        fresh.resets = records.resets + 1;
        *records = fresh;
        self.webhooks.retain(|_| false);
        self.journal.retain(|_| false);
        self.faults.restore(faults);
    }

    /// Removes the tasks, webhooks, requests and spending of a project. Returns whether it exists.
    pub(crate) fn reset_project(&self, project: &ProjectRef) -> bool {
        let mut records = self.records();
        if !records.accounts.forget_spending(project) {
            return false;
        }
        let removed = records.tasks.remove_of(project);
        self.webhooks.retain(|task| !removed.contains(task));
        self.journal.retain(|request| {
            request.organization.as_deref() != Some(&*project.organization)
                || request.project.as_deref() != Some(&*project.project)
        });
        true
    }

    /// The organizations that an actor may see.
    pub(crate) fn organizations(&self, actor: &Actor) -> Vec<OrganizationView> {
        let mut records = self.records();
        let now = self.clock.unix_now();
        records.tasks.settle(now);
        records.accounts.organizations(actor, now, |project| records.tasks.active(project))
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut records = self.records();
        records.tasks.settle(self.clock.unix_now());
        let (ready, failed) = records.tasks.ended();
        let accepted = records.tasks.accepted();
        Counts {
            accepted,
            active: accepted.saturating_sub(ready).saturating_sub(failed),
            charged: records.accounts.charged(),
            ready,
            failed,
            polls: records.polls,
            delivered: records.delivered,
            refused: records.refused.clone(),
            faults: self.faults.applied(),
        }
    }

    pub(crate) fn lateness(&self) -> Lateness {
        let records = self.records();
        records.lateness.summary(records.tasks.accepted())
    }
}

/// The limits of what tasks may keep.
fn retention(config: &Config) -> Retention {
    Retention { bytes: config.max_kept_bytes, image_lifetime: config.delivery_lifetime }
}
