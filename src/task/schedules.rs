//! What a client knows about the durations of tasks, by the work that the tasks do.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    Task,
    schedule::{Schedule, Seen, WaitProgress},
};
use crate::{Request, values::Mutex};

/// The maximum number of kinds of work that have a schedule.
const MAX_SCHEDULES: usize = 200;

/// How long the last tasks of a client took, by operation, and by the fields of the requests that
/// change the duration.
///
/// A client polls a new task at the age at which earlier tasks with the same work were ready.
/// [`Client::durations`](crate::Client::durations) returns these durations, and the next process
/// passes them to [`ClientBuilder::durations`](crate::ClientBuilder::durations), so that it finds
/// its first tasks as quickly. A client of another service ignores them. The value contains no
/// secret, and its serialized form may change.
///
/// ```
/// # fn keep(client: &imagekiln::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let known = serde_json::to_string(&client.durations())?;
/// let builder = imagekiln::Client::builder().durations(serde_json::from_str(&known)?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    /// The origin of the base URL.
    service: Option<String>,
    seen: BTreeMap<String, Vec<Seen>>,
}

impl Durations {
    /// Returns `true` if the client has not seen a task finish.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }
}

/// The schedules of a client.
#[derive(Debug, Default)]
pub(crate) struct Schedules(Mutex<HashMap<String, Schedule>>);

impl Schedules {
    /// Adds the durations that another client of the service has seen, for work that this client
    /// does not know yet.
    pub(crate) fn add(&self, service: &Url, known: Durations) {
        if known.service != Some(service.origin().ascii_serialization()) {
            return;
        }
        let mut schedules = self.0.lock();
        for (work, seen) in known.seen {
            if schedules.len() < MAX_SCHEDULES && !schedules.contains_key(&work) {
                let mut schedule = Schedule::default();
                for seen in seen.into_iter().filter(Seen::is_useful) {
                    schedule.learn(seen);
                }
                schedules.insert(work, schedule);
            }
        }
    }

    pub(crate) fn durations(&self, service: &Url) -> Durations {
        let schedules = self.0.lock();
        let known = |(work, schedule): (&String, &Schedule)| {
            (work.clone(), schedule.seen().copied().collect())
        };
        let seen = schedules.iter().map(known).collect();
        Durations { service: Some(service.origin().ascii_serialization()), seen }
    }

    /// Adds a finished task. Returns whether the next polls of tasks in progress with the same work
    /// should be planned again.
    pub(super) fn learn(&self, task: &Task, seen: Seen) -> bool {
        let mut schedules = self.0.lock();
        let mut is_surprise = None;
        for work in works(task) {
            if !schedules.contains_key(work) && schedules.len() < MAX_SCHEDULES {
                schedules.insert(work.to_owned(), Schedule::default());
            }
            let is_unexpected = schedules.get_mut(work).is_some_and(|known| known.learn(seen));
            is_surprise.get_or_insert(is_unexpected);
        }
        is_surprise == Some(true)
    }

    /// Returns the age of the next poll of a task. `waiting` counts the tasks with the same work.
    /// It is called only if none of them has finished, because counting many waits takes time.
    pub(super) fn next(
        &self,
        task: &Task,
        progress: WaitProgress,
        waiting: impl FnOnce() -> usize,
        random: f64,
    ) -> f64 {
        let mut schedules = self.0.lock();
        let known = works(task).find(|work| schedules.get(*work).is_some_and(Schedule::is_known));
        if let Some(schedule) = known.and_then(|work| schedules.get_mut(work)) {
            return schedule.next(progress, random);
        }
        drop(schedules);
        Schedule::default().next(WaitProgress { waiting: waiting(), ..progress }, random)
    }
}

/// Returns the names of the work of a task: first the specific name, if there is one, and then the
/// operation.
fn works(task: &Task) -> impl Iterator<Item = &str> {
    [task.work(), task.reference.operation()].into_iter().flatten()
}

/// Returns the name of the work of a request, if it sets a field that changes how long it takes.
/// The contract does not say which fields do. The fields here set how much the service has to
/// compute.
pub(super) fn work_of(request: &Request) -> Option<String> {
    let mut work = request.model_name();
    let model = work.len();
    for name in ["width", "height", "aspect_ratio", "steps", "mode"] {
        let number = request.integer(name).map(|number| number.to_string());
        if let Some(value) = number.or_else(|| request.text(name).map(str::to_owned)) {
            work.extend([" ", name, "=", &value]);
        }
    }
    (work.len() > model).then_some(work)
}
