//! Continues single jobs, for programs with a queue of their own.

use std::{collections::HashSet, convert::Infallible, fmt, panic, sync::Arc, time::Duration};

use imagekiln::Slot;
use tokio::{sync::watch, task::JoinSet, time};

use super::{
    Batch, Settings,
    engine::Engine,
    run::no_slot,
    unrecorded::first,
    worker::{End, Worker},
};
use crate::{
    Error, ErrorKind, JobState, JobStatus,
    ledger::{Claim, Limit, Named},
    output::Output,
};

/// When the queue should deliver a job again that another call is continuing, or that other jobs
/// hold back.
const SOON: Duration = Duration::from_secs(1);

/// The shortest time after which the queue should deliver a job again that an outage holds back:
/// another job may be testing whether the outage has ended.
const PROBE: Duration = Duration::from_secs(5);

/// When the queue should deliver a job again whose task was not final after ten minutes or was not
/// found, that the service refused, that waits for a webhook, or that a person holds back.
const LATER: Duration = Duration::from_secs(30);

/// When the queue should deliver a job again about which a person has to decide.
const DECISION: Duration = Duration::from_secs(60);

/// Continues the jobs of a ledger one by one, from [`Batch::dispatcher`]: for programs whose jobs
/// are delivered by a queue or a workflow engine, such as one on PostgreSQL, Redis or a cloud.
///
/// The queue delivers names of jobs. The ledger remains the record of what was paid, and decides
/// which call may submit a job. If the program follows four rules, every paid picture is saved, and
/// no picture is paid for twice:
///
/// 1. **Deliver every name until its job has ended.** Call [`advance`](Self::advance) for each
///    delivery. A name may be delivered twice, or to two processes at the same time: one call
///    continues the job, and the other returns [`Later`](Advanced::Later). Extend the time for
///    which the queue hides the name while `advance` runs.
/// 2. **Remove a name only after [`Ended`](Advanced::Ended).** After [`Later`](Advanced::Later),
///    deliver the name again when that time has passed, however often that happens. Also deliver
///    the name again after an error, like any step that failed. If the next delivery is a new entry
///    of the queue, the new entry must not share a key with the old one: removing the old entry at
///    the end of this delivery could remove both.
/// 3. **Drop a call whenever you want to**, for example after a timeout. The call gives the job
///    back as soon as the step in flight is done, and the next call continues the job, in this
///    process or in another one. Call [`finish`](Self::finish) before the process ends. If the
///    process is killed, other processes continue its jobs when its [lease](Batch::lease) has
///    expired.
/// 4. **Deliver the names of jobs that a person opens again.** An
///    [`Unknown`](JobState::Unknown) job is never `Ended`, so the decision of a person or a webhook
///    takes effect with the next delivery. [`Jobs::retry`](crate::Jobs::retry),
///    [`Batch::resolve_with_task`] and late webhooks can open jobs whose names the queue has
///    removed. [`Jobs::watch`](crate::Jobs::watch) returns them within a second, whichever
///    process opened them. [`Jobs::list`](crate::Jobs::list) returns all open jobs, to fill the
///    queue when the program starts.
///
/// ```
/// use std::time::Duration;
///
/// use imagekiln::ClientBuilder;
/// use imagekiln_batch::{Advanced, Batch, Ledger};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let ledger = Ledger::open("foxes.db").await?;
/// let batch = Batch::open(ClientBuilder::from_env()?, ledger)?.save_to("foxes");
/// let dispatcher = batch.dispatcher().await?;
/// # let queue: Vec<String> = Vec::new();
/// for name in queue {
///     match dispatcher.advance(&name).await? {
///         Advanced::Ended(job) => println!("{name}: {}", job.state),
///         Advanced::Later(after) => println!("{name}: again in {after:?}"),
///         other => println!("{name}: {other:?}"),
///     }
/// }
/// dispatcher.finish().await?;
/// # Ok(())
/// # }
/// ```
pub struct Dispatcher(Arc<Shared>);

/// What [`Dispatcher::advance`] did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Advanced {
    /// The job has ended: no call continues it, unless a person opens it again.
    Ended(Box<JobStatus>),
    /// The job has not ended. Deliver its name again after this time.
    Later(Duration),
}

impl Batch {
    /// Adds the [jobs](Self::jobs) to the ledger, and returns a dispatcher, which continues the
    /// jobs that a queue of the program delivers. The dispatcher uses the settings of the batch,
    /// but the queue decides how many jobs run at the same time in this process, and when they
    /// stop. It can continue the jobs of a [run](Self::run) of this batch that was dropped.
    ///
    /// # Errors
    ///
    /// [`Error::tasks`] returns the accepted tasks of a dropped run that the ledger could not
    /// record.
    ///
    /// - [`State`](ErrorKind::State): the [budget](Self::budget) is not valid, or the batch has a
    ///   setting for runs only: [`stop_when`](Self::stop_when),
    ///   [`wait_for_jobs`](Self::wait_for_jobs) or [`archive_after`](Self::archive_after). Nothing
    ///   was changed.
    /// - [`Job`](ErrorKind::Job): a job could not be added.
    /// - [`Foreign`](ErrorKind::Foreign): pictures may have been paid for that the ledger does not
    ///   know.
    /// - [`Elsewhere`](ErrorKind::Elsewhere): the ledger belongs to another service. Nothing was
    ///   changed.
    /// - [`Client`](ErrorKind::Client): submissions of a dropped run are still in flight after ten
    ///   minutes.
    /// - [`File`](ErrorKind::File), [`Ledger`](ErrorKind::Ledger): the output directory or the
    ///   ledger failed.
    pub async fn dispatcher(mut self) -> Result<Dispatcher, Error> {
        let prepared = self.prepare_dispatcher().await;
        // The error also contains the tasks of a dropped run that the ledger has not recorded.
        let retired = self.unrecorded.retire(&self.client, &self.ledger).await;
        let output = self.unrecorded.add_to(first(prepared, retired))?;
        // Each call has a signal of its own.
        let (_, stopped) = watch::channel(false);
        let engine = Arc::new(Engine::start(self.worker(&output, &stopped)).await?);
        let renewed = Arc::clone(&engine);
        let _renewals = JoinSet::from_iter([async move { renewed.renew().await }]);
        let running = watch::Sender::default();
        Ok(Dispatcher(Arc::new(Shared { engine, _renewals, running })))
    }

    async fn prepare_dispatcher(&mut self) -> Result<Output, Error> {
        self.check_for_dispatcher()?;
        self.add_jobs().await?;
        let output = self.open_output().await?;
        self.ledger.check_output(&output).await?;
        Ok(output)
    }

    /// Refuses the settings that only a run uses.
    fn check_for_dispatcher(&self) -> Result<(), Error> {
        let Settings { limits, waits_for_jobs, archive_after, .. } = &self.settings;
        let of_runs = [
            (self.stop.is_some(), "stop_when", "drop the calls of `Dispatcher::advance`"),
            (*waits_for_jobs, "wait_for_jobs", "the queue waits for jobs"),
            (archive_after.is_some(), "archive_after", "call `Jobs::archive`"),
        ];
        match of_runs.into_iter().find(|(is_set, ..)| *is_set) {
            Some((_, setting, instead)) => {
                let message =
                    format!("a dispatcher does not use `Batch::{setting}`; remove it: {instead}");
                Err(Error::new(ErrorKind::State, message))
            }
            None => limits.check(),
        }
    }
}

impl Dispatcher {
    /// Continues the job with this name until it ends, or until it has to wait.
    ///
    /// Dropping the future gives the job back. The work runs in a task of its own, because the
    /// ledger has to record the outcome of each step that was begun:
    ///
    /// - A submission in flight completes. Until then, other calls for the job return
    ///   [`Later`](Advanced::Later), so the job is never submitted twice.
    /// - An attempt to save the picture completes.
    /// - A wait for a slot or for the task ends at once.
    /// - A submission that had not begun is not sent.
    ///
    /// If another call of this process is continuing the job, this call waits for the other one for
    /// up to a second, because a call that was dropped usually gives its job back within
    /// milliseconds.
    ///
    /// The time of `Later` is
    ///
    /// - the pause of an [outage](crate::Limits::outages), but at most a minute, because a person
    ///   may end it, or the time until a [rate](crate::Limits::set_rate) allows the submission;
    /// - 30 seconds if the job is [`Unknown`](JobState::Unknown) and its webhook may still arrive,
    ///   until `Batch::callback_patience` has passed since its submission, and
    ///   a minute after that;
    /// - 30 seconds if a pause or a budget holds the job back, or the task is not final after ten
    ///   minutes;
    /// - a second if another worker has the job, or other jobs hold it back.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name.
    /// - [`Client`](ErrorKind::Client): the picture could not be fetched or saved. The job keeps
    ///   its state, and its status contains the reason.
    /// - [`File`](ErrorKind::File), [`Ledger`](ErrorKind::Ledger): the output directory or the
    ///   ledger failed. [`Error::tasks`] returns the accepted tasks that the ledger could not
    ///   record.
    pub async fn advance(&self, name: &str) -> Result<Advanced, Error> {
        let Some(turn) = self.0.turn(name).await else { return Ok(Advanced::Later(SOON)) };
        // The worker gives the job back when this future drops the sender.
        let (_caller, stopped) = watch::channel(false);
        let advanced = tokio::spawn(turn.continue_job(stopped)).await.unwrap_or_else(|error| {
            let error = match error.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                Err(error) => error,
            };
            let message = "the runtime shut down before the job was given back";
            Err(Error::new(ErrorKind::Ledger, message).with_source(error))
        });
        self.0.engine.worker.unrecorded.add_to(advanced)
    }

    /// Waits until the calls that were dropped have given back their jobs, and ends the worker.
    /// Without this call, the end of the runtime may interrupt submissions in flight. Their jobs
    /// then wait until the lease has expired, and become [`Unknown`](JobState::Unknown).
    ///
    /// # Errors
    ///
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    /// - [`Client`](ErrorKind::Client): submissions are still in flight after ten minutes.
    pub async fn finish(self) -> Result<(), Error> {
        let Shared { engine, running, .. } = &*self.0;
        // Fails only if the sender was dropped.
        let _ = running.subscribe().wait_for(HashSet::is_empty).await;
        let _renewed = engine.renewing.lock().await;
        let Worker { client, ledger, unrecorded, .. } = &*engine.worker;
        unrecorded.add_to(unrecorded.retire(client, ledger).await)
    }
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worker { ledger, settings, .. } = &*self.0.engine.worker;
        f.debug_struct("Dispatcher")
            .field("ledger", ledger)
            .field("settings", settings)
            .finish_non_exhaustive()
    }
}

/// What the calls of a dispatcher share. Steps in flight keep it alive after their call was
/// dropped.
struct Shared {
    engine: Arc<Engine>,
    /// Ends when this is dropped.
    _renewals: JoinSet<Infallible>,
    /// The names of the jobs that calls are continuing, or have not given back yet.
    running: watch::Sender<HashSet<String>>,
}

/// The right to continue a job in this process, for one call at a time.
struct Turn {
    shared: Arc<Shared>,
    name: String,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.running.send_modify(|names| {
            names.remove(&self.name);
        });
    }
}

impl Shared {
    /// Returns the right to continue the job with this name, or `None` if another call has had it
    /// for a second.
    async fn turn(self: &Arc<Self>, name: &str) -> Option<Turn> {
        let mut running = self.running.subscribe();
        let turn = async {
            loop {
                running.wait_for(|names| !names.contains(name)).await.ok().map(drop)?;
                if self.running.send_if_modified(|names| names.insert(name.to_owned())) {
                    return Some(Turn { shared: Arc::clone(self), name: name.to_owned() });
                }
            }
        };
        time::timeout(SOON, turn).await.ok().flatten()
    }

    /// Returns what the queue should do with a job in this state that no call is continuing.
    fn advanced(&self, job: Box<JobStatus>, after: Duration) -> Advanced {
        use JobState::{Queued, Ready, Submitted, Submitting, Unknown};
        match job.state {
            Queued | Submitting | Submitted | Ready => Advanced::Later(after),
            Unknown if self.expects_webhook(&job) => Advanced::Later(LATER),
            Unknown => Advanced::Later(DECISION),
            _ => Advanced::Ended(job),
        }
    }

    /// Whether a webhook may still find the task of an unknown job.
    fn expects_webhook(&self, job: &JobStatus) -> bool {
        let Worker { ledger, settings, .. } = &*self.engine.worker;
        let age = job.sent_at.and_then(|sent_at| ledger.local_time().duration_since(sent_at).ok());
        settings.callback_url.is_some() && age.is_some_and(|age| age < settings.callback_patience)
    }
}

impl Turn {
    /// Continues the job, and gives it back.
    async fn continue_job(self, stopped: watch::Receiver<bool>) -> Result<Advanced, Error> {
        let worker = Worker { stopped, ..Worker::clone(&self.shared.engine.worker) };
        let advanced = self.advance(&worker).await;
        if let Err(error) = &advanced
            && worker.is_stopping()
        {
            tracing::warn!(error = error.chain(), job = self.name, "a dropped call failed");
        }
        advanced
    }

    async fn advance(&self, worker: &Worker) -> Result<Advanced, Error> {
        let Self { shared, name } = self;
        let (number, claim) = shared.engine.next_claim().await?;
        let claimed = match worker.ledger.claim_named(number, claim, name).await {
            Err(error) if error.kind() == ErrorKind::Lease => {
                shared.engine.lost(number);
                return Ok(Advanced::Later(SOON));
            }
            claimed => claimed?,
        };
        let mut job = match claimed {
            Named::Claimed(job) => job,
            Named::Ended(status) => return Ok(shared.advanced(status, SOON)),
            Named::Limited(reached) => return Ok(Advanced::Later(after(&reached.limit))),
            Named::Unrecorded(job) => {
                worker.ledger.record_loss(number, job).await?;
                return Ok(Advanced::Later(SOON));
            }
            Named::Held => return Ok(Advanced::Later(SOON)),
        };
        let end = match worker.slot(&job).await {
            Ok(slot) => worker.advance(&mut job, slot).await,
            Err(end) => end,
        };
        let (result, after) = match end {
            End::Finished | End::Damaged(_) | End::NotNow => (Ok(()), SOON),
            End::Limit(reached) => (Ok(()), after(&reached.limit)),
            End::Left => (Ok(()), LATER),
            End::Refused(error) => (Ok(()), error.retry_after().unwrap_or(LATER)),
            // The next claim fails, too, and the dispatcher then continues as a new worker.
            End::Stop(error) if error.kind() == ErrorKind::Lease => (Ok(()), SOON),
            End::Stop(error) => (Err(error), LATER),
        };
        first(result, worker.ledger.release(&job).await)?;
        Ok(shared.advanced(Box::new(worker.ledger.jobs().existing(name).await?), after))
    }
}

impl Worker {
    /// Waits for a slot for a queued job. Gives up after a while, because another process may have
    /// free slots.
    async fn slot(&self, job: &Claim) -> Result<Option<Slot>, End> {
        if job.status.state != JobState::Queued {
            return Ok(None);
        }
        tokio::select! {
            slot = self.client.slot() => slot.map(Some).map_err(|error| no_slot(error).into()),
            () = self.abandoned() => Err(End::NotNow),
            () = time::sleep(LATER) => Err(End::NotNow),
        }
    }
}

/// Returns when the queue should deliver a job again that this limit does not allow.
fn after(limit: &Limit) -> Duration {
    match limit {
        Limit::Outage(outage) => outage.wait.clamp(PROBE, DECISION),
        Limit::Rate { wait, .. } => Duration::from_millis(*wait).max(SOON),
        Limit::Paused | Limit::Budget { .. } => LATER,
        Limit::ActiveTasks { .. } | Limit::UnknownPrice => SOON,
    }
}
