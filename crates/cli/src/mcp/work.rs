//! The work on the pictures of calls. The server submits each picture once, waits for it even if
//! the client no longer does, and saves it.

use std::{
    collections::HashMap,
    future::Future,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::watch, time::sleep};

use super::{Server, keys};
use crate::{
    context::Context,
    failure::Failure,
    history::{self, Entry, find, numbered},
    making::{
        self, costs,
        plan::{Planned, kept},
    },
    process::lock,
};
use imagekiln::{ErrorKind, Once, SubmitOptions, TaskRef, journal::Key};

/// How often to check a submission that another process is working on.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Whether work is left for a submission: to wait for its picture, or to fetch the picture again
/// because its file is gone or has changed. Reads the file.
pub fn has_work(entry: &Entry) -> bool {
    let is_fetched_again = || entry.delivered_until().is_some() && !entry.is_intact();
    !entry.is_unknown() && (!entry.is_finished() || is_fetched_again())
}

/// How far the work on a picture is.
#[derive(Debug, Clone)]
pub enum Phase {
    Submitting,
    /// The submission with this number waits for its picture.
    Waiting(u64),
    /// The submission with this number has ended, or its work failed.
    Ended(Option<u64>, Option<Arc<Failure>>),
}

/// The work in progress, by the keys of the pictures.
#[derive(Default)]
pub struct Jobs(Mutex<HashMap<String, watch::Receiver<Phase>>>);

impl Jobs {
    /// Starts the work for a key, unless it is in progress. The work continues even if nobody waits
    /// for it.
    fn start<F>(
        server: &Arc<Server>,
        key: &str,
        work: impl FnOnce(Arc<Server>, watch::Sender<Phase>) -> F,
    ) -> watch::Receiver<Phase>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut jobs = lock(&server.jobs.0);
        if let Some(phases) = jobs.get(key) {
            return phases.clone();
        }
        let (sender, phases) = watch::channel(Phase::Submitting);
        jobs.insert(key.to_owned(), phases.clone());
        let (server, key) = (Arc::clone(server), key.to_owned());
        let work = work(Arc::clone(&server), sender);
        tokio::spawn(async move {
            work.await;
            lock(&server.jobs.0).remove(&key);
        });
        phases
    }

    /// Waits for the end of all work.
    pub async fn ended(&self) {
        let any = || lock(&self.0).values().next().cloned();
        while let Some(mut phases) = any() {
            while phases.changed().await.is_ok() {}
            tokio::task::yield_now().await;
        }
    }
}

impl Server {
    /// Makes a picture that no earlier call has asked for. If the person was asked, `allowed` is
    /// the number of credits that they allow for this picture, whatever is left of the budget.
    pub fn make(
        self: &Arc<Self>,
        key: &str,
        planned: Planned,
        allowed: Option<f64>,
    ) -> watch::Receiver<Phase> {
        Jobs::start(self, key, move |server, phases| async move {
            match server.submit(&planned, allowed).await {
                Ok(number) => server.follow(number, &phases).await,
                Err(failure) => {
                    let ended = Phase::Ended(failure.number, Some(Arc::new(failure)));
                    phases.send_replace(ended);
                }
            }
        })
    }

    /// Waits for the picture of an earlier submission, or fetches it again. This costs nothing.
    pub fn resume(self: &Arc<Self>, entry: &Entry) -> watch::Receiver<Phase> {
        let number = entry.number;
        let key = entry.record.intent().key().map_or(entry.submission(), Key::name);
        Jobs::start(self, key, move |server, phases| async move {
            server.follow(number, &phases).await;
        })
    }

    /// Continues the unfinished work of servers that have ended.
    pub fn resume_all(self: &Arc<Self>) -> Result<(), Failure> {
        let is_left = |entry: &Entry| {
            let has_task = entry.record.task().is_some() && !entry.is_in_use;
            has_task && self.is_own(entry) && self.session.client.can_continue(&entry.record)
        };
        let entries = history::unfinished(self.context.process())?.flatten();
        entries.filter(is_left).for_each(|entry| drop(self.resume(&entry)));
        Ok(())
    }

    /// Whether a call made a submission, and its picture belongs in an allowed folder.
    pub fn is_own(&self, entry: &Entry) -> bool {
        keys::is_of_call(&entry.record) && self.folders.have(entry)
    }

    /// Whether work is left for a submission of a call. Reads the file of its picture.
    pub fn can_resume(&self, entry: &Entry) -> bool {
        entry.record.task().is_some() && self.is_own(entry) && has_work(entry)
    }

    async fn submit(&self, planned: &Planned, allowed: Option<f64>) -> Result<u64, Failure> {
        let context = self.fresh_context();
        let key = planned.key.clone().ok_or_else(|| Failure::usage("the call has no key"))?;
        let mut turn = self.budget.turn().await?;
        // Another server may have submitted the same call while this one waited for its turn.
        if let Some(record) = self.session.client.attempts(key.name()).await?.pop()
            && let Some(entry) = entry_of(&context, record.intent().id())?
        {
            return Ok(entry.number);
        }
        let planned_one = std::slice::from_ref(planned);
        let expected = costs::expected(&context, planned_one).pop().flatten();
        turn.reserve(context.process(), expected, allowed)?;
        let history = self.history.of_pictures(kept(&context, planned_one));
        let options = SubmitOptions::default().deadline(context.left()).origin(history.origin(0));
        let submitted =
            self.session.client.submit_once_with(key, planned.request.clone(), options).await;
        let entry = history.submission(0);
        match submitted {
            Ok(Once::Task(task) | Once::Saved { task, .. }) => {
                // Without an entry of this call, an earlier call has paid for the picture.
                if entry.is_some() {
                    turn.spent(task.cost());
                }
                let found = find::by_task(context.process(), task.reference());
                let entry = entry.map_or(found, |entry| Ok(Some(entry)))?;
                entry.map(|entry| entry.number).ok_or_else(|| {
                    Failure::usage("the submission is not in the history").about(task.reference())
                })
            }
            Err(error) => {
                let mut failure = Failure::from(error);
                failure.number = entry.map(|entry| entry.number);
                // Count a submission that was or may have been billed, even if the history could
                // not record its task.
                let is_unrecorded = failure.is(ErrorKind::Journal) && failure.task.is_some();
                if is_unrecorded || failure.billing_unknown && failure.number.is_some() {
                    turn.spent(failure.task.as_ref().and_then(TaskRef::cost));
                }
                Err(failure)
            }
        }
    }

    /// Waits until a submission has ended, and saves its picture, unless another process does. If
    /// the file of a saved picture is gone, saves the picture again.
    async fn follow(&self, number: u64, phases: &watch::Sender<Phase>) {
        phases.send_replace(Phase::Waiting(number));
        let failure = self.finish(number).await.err();
        phases.send_replace(Phase::Ended(Some(number), failure.map(Arc::new)));
    }

    async fn finish(&self, number: u64) -> Result<(), Failure> {
        let context = self.fresh_context();
        let entry = loop {
            let entry = numbered(context.process(), number)?.filter(has_work);
            let Some(entry) = entry else { return Ok(()) };
            let has_task = entry.record.task().is_some();
            if entry.is_finished() || has_task && self.history.claim(&entry).await? {
                break entry;
            }
            sleep(BETWEEN_LOOKS).await;
        };
        let Some(task) = self.session.client.task_of_record(&entry.record) else { return Ok(()) };
        let target = entry.target(Path::new(""));
        target.check(false, &context.process().stdout)?;
        let task = (&task, entry.kept.request.as_ref());
        making::finish(&context, &self.session, task, &target, &self.interrupts).await.map(drop)
    }

    /// Returns a context for work that starts now, so that its deadline also starts now.
    fn fresh_context(&self) -> Context {
        let Context { globals, shared, settings, .. } = self.context.clone();
        let process = Arc::clone(self.context.process());
        Context::new(process, (globals, shared), settings, None)
    }
}

/// Returns the entry of a submission.
pub fn entry_of(context: &Context, submission: &str) -> Result<Option<Entry>, Failure> {
    Ok(history::read(context.process())?.flatten().find(|entry| entry.submission() == submission))
}
