//! Continues single jobs, for programs with a queue of their own.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    task::JoinHandle,
    time,
};

use super::{
    Batch,
    fleet::Fleet,
    unrecorded::first,
    worker::{End, Worker},
};
use crate::{
    Error, ErrorKind, JobState, JobStatus,
    ledger::{Limit, Marking, Named},
};

/// When a job is looked at again that another worker continues, or that a limit holds back.
const SOON: Duration = Duration::from_secs(1);

/// When a job is looked at again whose task was not final after ten minutes, that the service did
/// not find or refused, or that a budget does not allow.
const LATER: Duration = Duration::from_secs(30);

/// The number of renewals within the duration of a lease.
const RENEWALS: u32 = 3;

/// Continues the jobs of a ledger one by one, from [`Batch::dispatcher`]: for programs whose jobs
/// are delivered by a queue, such as one on PostgreSQL, Redis or a cloud.
///
/// The queue delivers names of jobs, at least once each. The ledger remains the record of what was
/// paid, so a name may be delivered twice, to two processes at the same time, or not at all: then
/// [`Ledger::list`](crate::Ledger::list) returns the jobs that have not ended, to fill the queue
/// again.
///
/// | the queue | here |
/// |---|---|
/// | next | call [`advance`](Self::advance) with the name of each job that the queue delivers |
/// | touch | extend the time for which the queue hides the job, while `advance` runs |
/// | done | `advance` returned [`Advanced::Ended`]: remove the job from the queue |
/// | later | `advance` returned [`Advanced::Later`]: deliver the job again after that time |
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
pub struct Dispatcher {
    worker: Arc<Worker>,
    fleet: Fleet,
    /// The number of the worker, and of the claims that it made.
    number: AsyncMutex<(i64, i64)>,
    /// Held by those that continue jobs. The run of the signal to stop ends with it.
    _stop: watch::Sender<bool>,
    renewals: Renewals,
}

/// What [`Dispatcher::advance`] did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Advanced {
    /// The job has ended, or waits for a person: no call continues it.
    Ended(Box<JobStatus>),
    /// The job should be looked at again after this time.
    Later(Duration),
}

impl Batch {
    /// Adds the [jobs](Self::jobs) to the ledger, and returns a dispatcher, which continues those
    /// that a queue of the program delivers. It uses the settings of the batch, but the queue
    /// decides how many jobs run at the same time in this process, and when they stop.
    ///
    /// # Errors
    ///
    /// - [`Job`](ErrorKind::Job): a job could not be added.
    /// - [`Foreign`](ErrorKind::Foreign): the ledger may not know everything that was paid for.
    /// - [`File`](ErrorKind::File), [`Ledger`](ErrorKind::Ledger): the output directory or the
    ///   ledger failed.
    pub async fn dispatcher(mut self) -> Result<Dispatcher, Error> {
        self.ledger.add(self.jobs.iter().cloned()).await?;
        let output = self.open_output().await?;
        self.ledger.check_output(&output).await?;
        let (stop, stopped) = watch::channel(false);
        let worker =
            Arc::new(self.worker(&output, &stopped, Arc::new(Marking::new(output.clone()))));
        let number = worker.register().await?;
        let fleet = Fleet::default();
        fleet.add(number);
        let renewals = Renewals::start(Arc::clone(&worker), number);
        let number = AsyncMutex::new((number, 0));
        Ok(Dispatcher { worker, fleet, number, _stop: stop, renewals })
    }
}

impl Dispatcher {
    /// Continues the job with this name until it ends, or until it has to wait.
    ///
    /// Dropping the future loses nothing: the ledger has every step, and a submission in flight
    /// completes in the background. The next call continues the job.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name.
    /// - [`Client`](ErrorKind::Client): the picture could not be fetched or saved. The job keeps
    ///   its state, with the reason.
    /// - [`File`](ErrorKind::File), [`Ledger`](ErrorKind::Ledger): the output directory or the
    ///   ledger failed. [`Error::tasks`] returns the accepted tasks that the ledger could not
    ///   record.
    pub async fn advance(&self, name: &str) -> Result<Advanced, Error> {
        let claimed = {
            let mut number = self.number.lock().await;
            if self.renewals.has_lost_the_lease() {
                number.0 = self.worker.register().await?;
                self.fleet.add(number.0);
                self.renewals.restart(Arc::clone(&self.worker), number.0);
            }
            number.1 += 1;
            self.worker.ledger.claim_named(number.0, number.1, name).await?
        };
        let mut job = match claimed {
            Named::Claimed(job) => job,
            Named::Ended(status) => return Ok(Advanced::Ended(status)),
            Named::Held => return Ok(Advanced::Later(SOON)),
        };
        let end = self.worker.advance(&mut job, None).await;
        let (result, after) = match end {
            End::Finished | End::Damaged(_) => (Ok(()), SOON),
            End::Limit(reached) if matches!(reached.limit, Limit::Budget { .. }) => (Ok(()), LATER),
            End::Limit(_) | End::NotNow => (Ok(()), SOON),
            End::Left => (Ok(()), LATER),
            End::Refused(error) => (Ok(()), error.retry_after().unwrap_or(LATER)),
            End::Stop(error) if error.kind() == ErrorKind::Lease => (Ok(()), SOON),
            End::Stop(error) => (Err(error), LATER),
        };
        let result = first(result, self.worker.ledger.release(&job).await);
        self.worker.unrecorded.add_to(result)?;
        let status = self.worker.ledger.existing(name).await?;
        Ok(if is_open(status.state) {
            Advanced::Later(after)
        } else {
            Advanced::Ended(Box::new(status))
        })
    }

    /// Waits for the submissions in flight, and returns the jobs to other workers at once. Without
    /// this call, they wait until the lease has expired.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn finish(self) -> Result<(), Error> {
        let Worker { client, ledger, unrecorded, .. } = &*self.worker;
        let retired = self.fleet.retire(client, ledger, unrecorded).await;
        unrecorded.add_to(retired)
    }
}

/// Whether a worker can continue a job in this state.
fn is_open(state: JobState) -> bool {
    use JobState::{Queued, Ready, Submitted, Submitting};
    matches!(state, Queued | Submitting | Submitted | Ready)
}

/// Renews the lease of a worker in the background.
struct Renewals(Mutex<JoinHandle<()>>);

impl Renewals {
    fn start(worker: Arc<Worker>, number: i64) -> Self {
        Self(Mutex::new(tokio::spawn(renew(worker, number))))
    }

    fn restart(&self, worker: Arc<Worker>, number: i64) {
        *self.lock() = tokio::spawn(renew(worker, number));
    }

    fn has_lost_the_lease(&self) -> bool {
        self.lock().is_finished()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, JoinHandle<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Renewals {
    fn drop(&mut self) {
        self.lock().abort();
    }
}

/// Returns when the lease is lost.
async fn renew(worker: Arc<Worker>, number: i64) {
    let lease = worker.settings.lease;
    loop {
        time::sleep(lease / RENEWALS).await;
        let renewed = async {
            worker.ledger.renew(number, lease).await?;
            worker.ledger.take_over().await
        };
        match renewed.await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Lease => return,
            Err(error) => tracing::warn!(error = error.chain(), "could not renew the lease"),
        }
    }
}
