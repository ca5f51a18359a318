//! The state that all requests share: the contract, the keys, the tasks, the clock.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    billing::accounts::{Accounts, Act, Actor, OrganizationView},
    config::Config,
    contract::{Contract, Region},
    error::StartError,
    faults::Faults,
    http::signed_url::Signer,
    runtime::{chance::Chance, clock::Clock, workers::WorkerPool},
    tasks::{Room, Tasks, counts::Counts},
    webhooks::Webhooks,
};

pub(crate) struct Service {
    pub(crate) config: Config,
    pub(crate) contract: Arc<Contract>,
    pub(crate) chance: Chance,
    pub(crate) clock: Clock,
    pub(crate) signer: Signer,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) faults: Faults,
    /// Validates requests, separately so that they do not wait for pictures to be rendered.
    pub(crate) readers: WorkerPool,
    pub(crate) painters: WorkerPool,
    global_base: String,
    regional_base: String,
    state: Mutex<State>,
}

/// The mutable state.
pub(crate) struct State {
    pub(crate) tasks: Tasks,
    pub(crate) accounts: Accounts,
    pub(crate) polls: u64,
    pub(crate) delivered: u64,
    pub(crate) refused: BTreeMap<u16, u64>,
}

impl Service {
    pub(crate) fn new(
        config: Config,
        contract: Arc<Contract>,
        global_base: String,
        regional_base: String,
    ) -> Result<Self, StartError> {
        let chance = Chance::new(config.seed.unwrap_or(0));
        let clock = Clock::start(config.speed);
        let state = State {
            tasks: Tasks::default(),
            accounts: Accounts::new(
                config.organizations.clone(),
                &config.api_keys,
                clock.unix_now(),
            )?,
            polls: 0,
            delivered: 0,
            refused: BTreeMap::new(),
        };
        Ok(Self {
            signer: Signer::new(chance),
            webhooks: Arc::new(Webhooks::new(config.webhooks.clone(), clock.clone(), chance)),
            faults: Faults::with_rules(chance, &config.faults)?,
            clock,
            readers: WorkerPool::new(),
            painters: WorkerPool::new(),
            state: Mutex::new(state),
            config,
            contract,
            chance,
            global_base,
            regional_base,
        })
    }

    /// The limits of what tasks may keep.
    pub(crate) fn room(&self) -> Room {
        Room { bytes: self.config.max_kept_bytes, image_lifetime: self.config.delivery_lifetime }
    }

    pub(crate) fn base(&self, region: Region) -> &str {
        match region {
            Region::Global => &self.global_base,
            Region::Regional => &self.regional_base,
        }
    }

    /// Locks the mutable state. The guard must not be held across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The organizations that an actor may see.
    pub(crate) fn organizations(&self, actor: &Actor) -> Vec<OrganizationView> {
        let mut state = self.state();
        let now = self.clock.now();
        state.tasks.settle(now, self.room());
        state
            .accounts
            .organizations(actor, self.clock.unix_at(now), |project| state.tasks.active(project))
    }

    /// An actor that changes the accounts.
    pub(crate) fn act<'a>(&self, state: &'a mut State, actor: Actor) -> Act<'a> {
        Act { accounts: &mut state.accounts, actor, unix: self.clock.unix_now() }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut state = self.state();
        state.tasks.settle(self.clock.now(), self.room());
        let (ready, failed) = state.tasks.ended();
        Counts {
            accepted: state.tasks.accepted(),
            charged: state.accounts.charged(),
            ready,
            failed,
            polls: state.polls,
            delivered: state.delivered,
            refused: state.refused.clone(),
            struck: self.faults.struck(),
        }
    }
}
