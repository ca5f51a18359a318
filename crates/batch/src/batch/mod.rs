//! Runs the jobs of a ledger.

mod dispatch;
mod drive;
mod engine;
mod resolve;
mod room;
mod run;
mod save;
mod submit;
mod unrecorded;
#[cfg(feature = "webhook")]
mod webhooks;
mod worker;

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use imagekiln::{Client, ClientBuilder};

pub use self::dispatch::{Advanced, Dispatcher};
use self::unrecorded::{Unrecorded, first};
use crate::{
    Error, ErrorKind, Job, JobStatus, Ledger, Price, Report,
    ledger::RunLimits,
    output::{Output, OutputTarget},
};

/// How long a run waits for the submissions of an earlier run that was dropped.
const LONGEST_SUBMISSION: Duration = Duration::from_secs(600);

/// The default of the maximum number of active jobs. It can be high, because the client adapts to
/// the number of tasks that the service allows.
const MAX_ACTIVE: usize = 256;

type Signal = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The function to call with the new status of a job.
type OnChange = Arc<dyn Fn(&JobStatus) + Send + Sync>;

/// Submits the jobs of a ledger, waits for their pictures, and saves them.
///
/// ```
/// use imagekiln::{ClientBuilder, types::Gen2Pro};
/// use imagekiln_batch::{Batch, Job, Ledger};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let foxes = (1..=200).map(|number| {
///     let request = Gen2Pro::new("a red fox in the snow").seed(number);
///     Job::new(format!("fox-{number}"), format!("fox-{number}.jpg"), request)
/// });
/// let ledger = Ledger::open("foxes.db").await?;
/// let report = Batch::open(ClientBuilder::from_env()?, ledger)?
///     .jobs(foxes)
///     .budget(1000)
///     .save_to("foxes")
///     .on_change(|job| println!("{} {}", job.name, job.state))
///     .run()
///     .await?;
/// print!("{report}");
/// # Ok(())
/// # }
/// ```
#[must_use = "a batch does nothing until it runs"]
pub struct Batch {
    client: Client,
    ledger: Ledger,
    jobs: Vec<Job>,
    output: PathBuf,
    on_change: OnChange,
    settings: Settings,
    stop: Option<Signal>,
    pays_again: bool,
    unrecorded: Unrecorded,
    /// Shared with each receiver of webhooks.
    receivers: Arc<()>,
}

/// The settings of the workers.
#[derive(Debug, Clone)]
struct Settings {
    limits: RunLimits,
    lease: Duration,
    waits_for_jobs: bool,
    archive_after: Option<Duration>,
    /// Whether a run may submit jobs.
    submits: bool,
    is_simulated: bool,
    /// Webhooks of a job go to this URL, with the token of the submission as the last part of its
    /// path.
    callback_url: Option<String>,
    callback_patience: Duration,
}

impl Batch {
    /// Creates a batch with a client that uses the ledger as its journal.
    ///
    /// # Errors
    ///
    /// Kind [`Client`](ErrorKind::Client): a setting of the client is missing or invalid, or the
    /// client has another journal. The ledger must be the journal of the client; it also records
    /// submissions of the program that do not belong to a job.
    pub fn open(client: ClientBuilder, ledger: Ledger) -> Result<Self, Error> {
        if client.has_journal() {
            let message = "the client of a batch has a journal; leave it out, because the ledger \
                           is its journal";
            return Err(Error::new(ErrorKind::Client, message));
        }
        let client = client
            .journal(ledger.clone())
            .build()
            .map_err(Error::because(ErrorKind::Client, "could not build the client"))?;
        Ok(Self {
            client,
            ledger,
            jobs: Vec::new(),
            output: PathBuf::from("."),
            on_change: Arc::new(|_| {}),
            settings: Settings {
                limits: RunLimits { max_active: MAX_ACTIVE, budget: None, price: None },
                lease: Duration::from_secs(30),
                waits_for_jobs: false,
                archive_after: None,
                submits: true,
                is_simulated: false,
                callback_url: None,
                // A run also waits this long for a task whose response has arrived.
                callback_patience: Duration::from_secs(600),
            },
            stop: None,
            pays_again: false,
            unrecorded: Unrecorded::default(),
            receivers: Arc::default(),
        })
    }

    /// Adds jobs to the ledger when the batch runs; see [`Jobs::add`](crate::Jobs::add).
    pub fn jobs(mut self, jobs: impl IntoIterator<Item = Job>) -> Self {
        self.jobs.extend(jobs);
        self
    }

    /// Sets the maximum number of jobs between their submission and the saved picture, in all
    /// workers of the ledger. The default is 256; 0 means 1. The client submits only as many as the
    /// service allows, as described for [`ClientBuilder::max_active`].
    ///
    /// If that many jobs are active, a worker submits the next job only when the picture of another
    /// one has been saved. Slow downloads or a slow disk therefore slow down the submissions. An
    /// [`Unknown`](crate::JobState::Unknown) job is not active, although the service may process
    /// it.
    pub fn max_active(mut self, jobs: usize) -> Self {
        self.settings.limits.max_active = jobs.max(1);
        self
    }

    /// Sets how many credits all submissions in the ledger may cost, including those of earlier
    /// runs and of other workers: a finite number, 0 or more. There is no limit by default.
    ///
    /// The worker submits a job if its price and all earlier costs fit into the budget. The price
    /// of a job is the highest cost of its operation in the ledger, or a price per megapixel that
    /// was set. A submission without a known cost, for example of an
    /// [`Unknown`](crate::JobState::Unknown) job, counts with its price, because it may have been
    /// billed. If no price is known, the worker submits the first job of an operation alone and
    /// waits for its cost; [`Limits::set_price`](crate::Limits::set_price) sets a price. If a job
    /// does not fit, smaller jobs after it may.
    ///
    /// The costs exceed the budget if
    ///
    /// - a job costs more than its price, for example because its picture is larger than all
    ///   earlier ones and no price per megapixel is set. Each job in flight can exceed the budget
    ///   by the difference;
    /// - the first job of an operation costs more than what is left;
    /// - responses contain no cost. The worker submits one job of such an operation at a time, and
    ///   the budget does not count it;
    /// - responses are lost before any price is known, and webhooks later bring their tasks.
    pub fn budget(mut self, credits: impl Into<f64>) -> Self {
        self.settings.limits.budget = Some(credits.into());
        self
    }

    /// Sets the price of the jobs of this run whose operation has no
    /// [price](crate::Limits::set_price) in the ledger: a number of credits for each job, or a
    /// [`Price`]. Only budgets use it. For `kiln batch run --price`.
    #[doc(hidden)]
    pub fn price(mut self, price: impl Into<Price>) -> Self {
        self.settings.limits.price = Some(price.into());
        self
    }

    /// Sets where pictures are saved: a directory, which the batch creates, or the URL of a bucket,
    /// such as `s3://bucket/prefix`. The default is the working directory. The section on buckets
    /// of the [front page](crate) lists the URLs and their Cargo features.
    pub fn save_to(mut self, output: impl Into<PathBuf>) -> Self {
        self.output = output.into();
        self
    }

    /// Sets how long other workers wait for a worker that does not respond before they take over
    /// its jobs. The default is 30 seconds; the minimum is 1 second.
    ///
    /// A worker renews its lease three times within this time. If the lease has expired, the worker
    /// submits nothing until it has renewed the lease. If another worker has taken over its jobs,
    /// it can no longer change them, and continues as a new worker.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// Makes the batch wait for more jobs when no job is left, until the signal of
    /// [`stop_when`](Self::stop_when).
    ///
    /// A job starts as soon as this process adds it to the ledger. If the worker is idle, jobs that
    /// other processes add start within a second.
    pub fn wait_for_jobs(mut self) -> Self {
        self.settings.waits_for_jobs = true;
        self
    }

    /// Makes runs [archive](crate::Jobs::archive) jobs that ended at least `age` ago: at the start,
    /// and every minute. By default, jobs that ended stay in the ledger. The report of a run does
    /// not count archived jobs.
    pub fn archive_after(mut self, age: Duration) -> Self {
        self.settings.archive_after = Some(age);
        self
    }

    /// Declares that the service is a simulator that ends with the process, whatever its URL is.
    /// The ledger then refuses batches for other services, and a ledger of a real service refuses
    /// this batch; see [`Elsewhere`](ErrorKind::Elsewhere).
    #[doc(hidden)]
    pub fn simulated(mut self) -> Self {
        self.settings.is_simulated = true;
        self
    }

    /// Makes the next run submit jobs although pictures may have been paid for that the ledger does
    /// not know; see [`Foreign`](ErrorKind::Foreign). The run pays again for jobs that another
    /// ledger has paid for. Jobs whose responses were lost become
    /// [`Unknown`](crate::JobState::Unknown) if the acceptance log contains their submissions.
    pub fn pay_again(mut self) -> Self {
        self.pays_again = true;
        self
    }

    /// Sets a signal after which the next run submits no more jobs, and ends when the active jobs
    /// have ended.
    pub fn stop_when(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stop = Some(Box::pin(signal));
        self
    }

    /// Sets a function to call with the new status of a job, after it was written to the ledger.
    /// The function must not block: for slow work, send a copy of the status to a channel.
    ///
    /// The function is not called for [`Submitting`](crate::JobState::Submitting), or for changes
    /// by other workers.
    pub fn on_change(mut self, call: impl Fn(&JobStatus) + Send + Sync + 'static) -> Self {
        self.on_change = Arc::new(call);
        self
    }

    /// Returns the client of the batch, for example to receive webhooks.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the ledger of the batch, of which the program has a clone, for tests and `kiln`.
    #[doc(hidden)]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Adds the [jobs](Self::jobs) to the ledger, runs until no job of the ledger can continue, and
    /// returns the report on the whole ledger.
    ///
    /// To continue, call this method again, with this batch or in the next process with the same
    /// ledger. Jobs that are paid for come first. [`Queued`](crate::JobState::Queued) jobs are left
    /// only if the budget does not allow them. [`Submitted`](crate::JobState::Submitted) jobs are
    /// left if their tasks were not final after ten minutes, or if the service did not find them.
    ///
    /// If other workers share the ledger, this worker also waits for their jobs, and continues them
    /// if those workers stop responding.
    ///
    /// Dropping the future stops the run. Submissions in flight complete in the background, and the
    /// ledger records them.
    ///
    /// # Errors
    ///
    /// After an error, the worker submits no more jobs, and the active jobs continue to their end.
    /// The run returns the first error, and logs later ones. [`Error::tasks`] returns the accepted
    /// tasks that the ledger could not record.
    ///
    /// - [`Job`](ErrorKind::Job): a job could not be added. Nothing was sent.
    /// - [`Outage`](ErrorKind::Outage): the service has accepted no submission for three hours, or
    ///   it refused the first submissions of this run for a permanent reason, such as missing
    ///   credits or a wrong key. The jobs stay queued.
    /// - [`Client`](ErrorKind::Client): a picture could not be fetched or saved. Its job keeps its
    ///   state, and the status of the job contains the reason.
    /// - [`Foreign`](ErrorKind::Foreign): pictures may have been paid for that the ledger does not
    ///   know. Only jobs that were submitted before were continued.
    /// - [`Elsewhere`](ErrorKind::Elsewhere): the ledger belongs to another service. Nothing was
    ///   sent.
    /// - [`State`](ErrorKind::State): the [budget](Self::budget) is negative, infinite or not a
    ///   number. Only jobs that were submitted before were continued.
    /// - [`File`](ErrorKind::File), [`Ledger`](ErrorKind::Ledger), [`State`](ErrorKind::State): the
    ///   output directory or the ledger failed.
    pub async fn run(&mut self) -> Result<Report, Error> {
        if !self.jobs.is_empty()
            && let Err(error) = self.add_jobs().await
        {
            return self.not_begun(error).await;
        }
        let own = match self.check_service().await {
            Err(error) if error.kind() == ErrorKind::Elsewhere => {
                return self.not_begun(error).await;
            }
            own => own.and(self.settings.limits.check()),
        };
        let output = match self.open_output().await {
            Err(error) => return self.not_begun(error).await,
            Ok(output) => output,
        };
        // If the ledger cannot be read, the run returns the error.
        self.client.add_durations(self.ledger.durations().await.unwrap_or_default());
        // If the check fails, the run submits nothing, but continues: the ledger may not have
        // recorded tasks of an earlier run, which the error must contain.
        let checked = match own {
            Ok(()) => self.ledger.check_output(&output).await,
            failed => failed,
        };
        self.settings.submits = checked.is_ok();
        let archiving = self.ledger.clone().archive_regularly(self.settings.archive_after);
        let ended = tokio::select! {
            ended = self.run_worker(&output) => ended,
            never = archiving => match never {},
        };
        if let Err(error) = self.ledger.keep_durations(&self.client.durations()).await {
            tracing::debug!(%error, "the ledger could not keep the durations of tasks");
        }
        self.unrecorded.add_to(first(checked, ended))?;
        self.ledger.reports().jobs().await
    }

    /// Returns the error of a run that cannot begin, with the tasks of an earlier run that the
    /// ledger has not recorded.
    async fn not_begun(&mut self, error: Error) -> Result<Report, Error> {
        let retired = self.unrecorded.retire(&self.client, &self.ledger).await;
        self.unrecorded.add_to(first(Err(error), retired))
    }

    /// Binds the ledger to the service of this batch, if no batch has run on it. A run does this at
    /// its start; a program can do it earlier, before it adds jobs to the ledger.
    ///
    /// # Errors
    ///
    /// - [`Elsewhere`](ErrorKind::Elsewhere): the ledger belongs to another service.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger failed.
    #[doc(hidden)]
    pub fn check_service(&self) -> impl Future<Output = Result<(), Error>> + Send {
        // The future does not borrow the whole batch, because threads cannot share its signal.
        let Self { ledger, client, settings: Settings { is_simulated, .. }, .. } = self;
        ledger.belong_to(client, *is_simulated)
    }

    async fn add_jobs(&mut self) -> Result<(), Error> {
        self.check_service().await?;
        self.ledger.jobs().add(self.jobs.iter().cloned()).await
    }

    /// Opens the output. After [`pay_again`](Self::pay_again), allows the ledger to pay for its
    /// pictures.
    async fn open_output(&mut self) -> Result<Output, Error> {
        let output = Output::open(&OutputTarget::new(self.output.clone())?).await?;
        if std::mem::take(&mut self.pays_again) {
            self.ledger.accept_output(&output).await?;
        }
        Ok(output)
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("ledger", &self.ledger)
            .field("output", &self.output)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
