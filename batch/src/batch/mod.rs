//! Runs the jobs of a ledger.

mod output;
mod run;
mod save;
mod submit;
mod worker;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use imagekiln::{Client, ClientBuilder};

use self::{run::Run, worker::Worker};
use crate::{Error, ErrorKind, Job, JobStatus, Ledger, Report};

/// How long a run waits for the submissions of an earlier run that was dropped.
const LONGEST_SUBMISSION: Duration = Duration::from_secs(600);

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
///     .budget(1000.0)
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
    max_active: usize,
    budget: Option<f64>,
    directory: PathBuf,
    on_change: OnChange,
}

impl Batch {
    /// Creates a batch with a client that uses the ledger as its journal. An open ledger can have
    /// one batch.
    ///
    /// # Errors
    ///
    /// - [`Client`](ErrorKind::Client): a setting of the client is missing or invalid.
    /// - [`Locked`](ErrorKind::Locked): the ledger already has a batch.
    pub fn open(client: ClientBuilder, ledger: Ledger) -> Result<Self, Error> {
        let client = client.journal(ledger.clone()).build().map_err(|error| {
            Error::new(ErrorKind::Client, "could not build the client").with_source(error)
        })?;
        ledger.reserve()?;
        Ok(Self {
            client,
            ledger,
            jobs: Vec::new(),
            max_active: 24,
            budget: None,
            directory: PathBuf::from("."),
            on_change: Arc::new(|_| {}),
        })
    }

    /// Adds jobs to the ledger when the batch runs; see [`Ledger::add`].
    pub fn jobs(mut self, jobs: impl IntoIterator<Item = Job>) -> Self {
        self.jobs.extend(jobs);
        self
    }

    /// Sets the maximum number of jobs between their submission and the saved picture. The default
    /// is 24; 0 means 1.
    ///
    /// If that many jobs are active, a job is submitted only when the picture of another one has
    /// been saved. Slow downloads or a slow disk therefore slow down the submissions.
    pub fn max_active(mut self, jobs: usize) -> Self {
        self.max_active = jobs.max(1);
        self
    }

    /// Sets how many credits all submissions in the ledger may cost, including those of earlier
    /// runs. There is no limit by default.
    ///
    /// A job is submitted if its price and all earlier costs fit into the budget. Its price is the
    /// highest cost of its operation in the ledger. A submission without a known cost, for example
    /// of an [`Unknown`](crate::State::Unknown) job, counts as much. If no price is known, the
    /// first job of an operation is submitted alone.
    ///
    /// The costs exceed the budget if
    ///
    /// - a job costs more than every earlier one of its operation, for example because its picture
    ///   is larger: by the difference, for each job in flight;
    /// - the first job of an operation costs more than what is left;
    /// - responses contain no cost: such operations run one job at a time, and are not counted.
    pub fn budget(mut self, credits: f64) -> Self {
        self.budget = Some(credits);
        self
    }

    /// Sets the output directory. The default is the working directory. The batch creates it, and
    /// the directories of the targets.
    pub fn save_to(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Sets a function to call with the new status of a job, after it was written to the ledger. It
    /// must not block.
    ///
    /// It is not called for [`Submitting`](crate::State::Submitting), or for jobs that
    /// [`Ledger::open`] found in that state.
    pub fn on_change(mut self, call: impl Fn(&JobStatus) + Send + Sync + 'static) -> Self {
        self.on_change = Arc::new(call);
        self
    }

    /// Runs until no job can continue, and returns the report on the whole ledger.
    ///
    /// Call it again, with this batch or in the next process with the same ledger, to continue. The
    /// jobs that were paid for come first. [`Queued`](crate::State::Queued) jobs are left only if
    /// the budget does not allow them. [`Submitted`](crate::State::Submitted) jobs are left if
    /// their tasks were not final after ten minutes, or if the service did not find them.
    ///
    /// Dropping the future stops the run. Submissions in flight complete in the background, and the
    /// ledger records them.
    ///
    /// # Errors
    ///
    /// After an error, no more jobs are submitted, and the active ones continue to their end.
    ///
    /// - [`Job`](ErrorKind::Job): a job could not be added.
    /// - [`Client`](ErrorKind::Client): the service refuses submissions, or a picture could not be
    ///   fetched or saved. Its job keeps its state, with the reason.
    /// - [`File`](ErrorKind::File), [`Ledger`](ErrorKind::Ledger), [`State`](ErrorKind::State): the
    ///   output directory or the ledger failed.
    pub async fn run(&mut self) -> Result<Report, Error> {
        let directory = output::prepare(self.directory.clone()).await?;
        self.ledger.set_budget(self.budget);
        self.end_dropped_run().await?;
        self.ledger.add(self.jobs.iter().cloned()).await?;
        let pending = self.ledger.pending().await?;
        let (client, ledger) = (self.client.clone(), self.ledger.clone());
        let worker = Worker::new(client, ledger, directory, Arc::clone(&self.on_change));
        Run::new(worker, self.max_active, pending).finish().await?;
        self.ledger.report().await
    }

    /// Waits for submissions in flight. Afterwards, the state of every job is settled.
    async fn end_dropped_run(&self) -> Result<(), Error> {
        self.client.drain(LONGEST_SUBMISSION).await.map_err(|error| {
            Error::new(ErrorKind::Client, "submissions of an earlier run are still in flight")
                .with_source(error)
        })?;
        self.ledger.abandon_submissions("the submission ended without a known outcome").await
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("ledger", &self.ledger)
            .field("max_active", &self.max_active)
            .field("budget", &self.budget)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}
