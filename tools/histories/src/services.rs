//! The services of a history, the API keys that pay there, and what they charged.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Result, ensure};
use imagekiln::{DELIVERY_VALIDITY, TaskRef};
use imagekiln_simulator::{Config, Organization, Project, ProjectKey, Simulator, TaskView};

/// The keys of each service: two of one account, and one of another account. The last character is
/// the number of the service.
const KEYS: [[&str; 3]; 2] = [
    ["first-key-of-anna-0", "other-key-of-anna-0", "key-of-berta-0"],
    ["first-key-of-anna-1", "other-key-of-anna-1", "key-of-berta-1"],
];

/// A service, and the key of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Payer {
    pub(crate) service: usize,
    /// The number of the key.
    pub(crate) key: usize,
}

impl Payer {
    pub(crate) const FIRST: Self = Self { service: 0, key: 0 };
    pub(crate) const KEYS: usize = KEYS[0].len();

    pub(crate) fn api_key(self) -> &'static str {
        KEYS[self.service][self.key]
    }
}

/// The first service, and in some histories another one.
pub(crate) struct Services {
    simulators: Vec<Simulator>,
    seed: u64,
    ready_after: Duration,
}

impl Services {
    pub(crate) async fn start(seed: u64, ready_after: Duration) -> Result<Self> {
        let mut services = Self { simulators: Vec::new(), seed, ready_after };
        services.add().await?;
        Ok(services)
    }

    /// Starts another service, which gives its tasks the same ids.
    pub(crate) async fn add(&mut self) -> Result<()> {
        let [anna, other, berta] = KEYS[self.simulators.len()];
        let keys = vec![ProjectKey { name: "berta".to_owned(), key: berta.into() }];
        let project = Project { name: "Berta".to_owned(), keys, ..Project::default() };
        let berta = Organization { projects: vec![project], ..Organization::new("Berta") };
        let config = Config {
            seed: Some(self.seed.into()),
            ready_after: self.ready_after,
            api_keys: vec![anna.into(), other.into()],
            organizations: vec![berta],
            ..Config::default()
        };
        self.simulators.push(Simulator::start(config).await?);
        Ok(())
    }

    pub(crate) fn count(&self) -> usize {
        self.simulators.len()
    }

    pub(crate) fn base_url(&self, service: usize) -> &str {
        self.simulators[service].base_url()
    }

    /// Returns the time of the services' clocks, which started together.
    pub(crate) fn now(&self) -> Duration {
        self.simulators.first().map(|simulator| simulator.clock().now()).unwrap_or_default()
    }

    /// Replaces the faults of all services.
    pub(crate) fn set_faults(&self, faults: &[String]) -> Result<()> {
        for simulator in &self.simulators {
            simulator.faults().clear();
            for fault in faults {
                simulator.faults().add(fault)?;
            }
        }
        Ok(())
    }

    /// Returns all tasks that were charged, with the numbers of their services.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (usize, TaskView)> {
        let services = self.simulators.iter().enumerate();
        services.flat_map(|(service, it)| it.tasks().into_iter().map(move |task| (service, task)))
    }

    /// Returns the tasks that were charged for a picture, with the numbers of their services.
    pub(crate) fn charged(&self, name: &str) -> impl Iterator<Item = (usize, TaskView)> {
        self.tasks().filter(move |(_, task)| name_of(task).as_deref() == Some(name))
    }

    /// Returns the id of the first task that was charged for a picture.
    pub(crate) fn id_for(&self, name: &str) -> Option<String> {
        self.charged(name).next().map(|(_, task)| task.id)
    }

    /// Returns the names of all tasks that were charged.
    pub(crate) fn ids(&self) -> BTreeSet<String> {
        self.tasks().map(|(service, task)| unique(service, &task.id)).collect()
    }

    /// Whether the first task that was charged for a picture is this one.
    pub(crate) fn is_for(&self, task: &TaskRef, name: &str) -> bool {
        let first = self.charged(name).next();
        first.is_some_and(|(service, charged)| unique(service, &charged.id) == self.id(task))
    }

    /// Returns the name of a task, which is its id at the first service.
    pub(crate) fn id(&self, task: &TaskRef) -> String {
        let url = task.polling_url().reveal();
        let is_at = |base: &str| url.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'));
        let service = self.simulators.iter().position(|simulator| is_at(simulator.base_url()));
        unique(service.unwrap_or(self.count()), task.id())
    }

    /// Whether all delivery URLs of a task have expired.
    pub(crate) fn is_past(&self, service: usize, task: &TaskView) -> bool {
        self.simulators[service].clock().now() >= task.final_at + DELIVERY_VALIDITY
    }

    /// Fails if a response that arrived in a run that was not killed named a task of which nobody
    /// knows. `before` are those that were charged before the run.
    pub(crate) fn expect_known(
        &self,
        before: &BTreeSet<String>,
        accepted: usize,
        known: &BTreeSet<String>,
    ) -> Result<()> {
        let new = self.ids().difference(before).filter(|id| known.contains(*id)).count();
        ensure!(new >= accepted, "{accepted} tasks were accepted, and {new} of them are known");
        Ok(())
    }

    /// Fails if a service has received a key that does not belong to it.
    pub(crate) fn expect_own_keys(&self) -> Result<()> {
        for (service, simulator) in self.simulators.iter().enumerate() {
            for request in simulator.requests() {
                let is_own =
                    request.key.as_ref().is_none_or(|key| key.ends_with(&service.to_string()));
                ensure!(is_own, "service {service} received a key of another one: {request:?}");
            }
        }
        Ok(())
    }
}

/// Returns the name of the picture that a task is for.
pub(crate) fn name_of(task: &TaskView) -> Option<String> {
    Some(task.request["prompt"].as_str()?.split('.').next()?.to_owned())
}

/// Two services give the same ids.
fn unique(service: usize, id: &str) -> String {
    if service == 0 { id.to_owned() } else { format!("{id} of service {service}") }
}
