//! What all requests share: the contract, the keys, the tasks, the clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::accounts::Keys;
use crate::chance::Chance;
use crate::clock::Clock;
use crate::config::Config;
use crate::contract::{Contract, Region};
use crate::counts::Counts;
use crate::credits::Credits;
use crate::delivery::Signer;
use crate::outcome::Outcome;
use crate::tasks::Tasks;
use crate::webhooks::Webhooks;
use crate::work::Workshop;

pub(crate) struct Service {
    pub(crate) config: Config,
    pub(crate) contract: Arc<Contract>,
    pub(crate) keys: Keys,
    pub(crate) chance: Chance,
    pub(crate) clock: Clock,
    pub(crate) signer: Signer,
    pub(crate) webhooks: Arc<Webhooks>,
    /// Where requests are examined, which does not wait for pictures to be painted.
    pub(crate) readers: Workshop,
    pub(crate) painters: Workshop,
    global_base: String,
    regional_base: String,
    state: Mutex<State>,
}

/// What changes.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) tasks: Tasks,
    pub(crate) charged: Credits,
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
    ) -> Self {
        let chance = Chance::new(config.seed);
        let clock = Clock::start(config.speed);
        Self {
            keys: Keys::new(config.api_keys.clone()),
            signer: Signer::new(chance),
            webhooks: Arc::new(Webhooks::new(config.webhooks.clone(), clock.clone(), chance)),
            clock,
            readers: Workshop::new(),
            painters: Workshop::new(),
            state: Mutex::default(),
            config,
            contract,
            chance,
            global_base,
            regional_base,
        }
    }

    pub(crate) fn base(&self, region: Region) -> &str {
        match region {
            Region::Global => &self.global_base,
            Region::Regional => &self.regional_base,
        }
    }

    /// What changes, for as long as the guard is held; never across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn counts(&self) -> Counts {
        let now = self.clock.now();
        let state = self.state();
        let (mut ready, mut failed) = (0, 0);
        for task in state.tasks.iter() {
            match task.outcome(now) {
                Some(Outcome::Ready) => ready += 1,
                Some(_) => failed += 1,
                None => {}
            }
        }
        Counts {
            accepted: state.tasks.count(),
            charged: state.charged,
            ready,
            failed,
            polls: state.polls,
            delivered: state.delivered,
            refused: state.refused.clone(),
        }
    }
}
