//! Continues the jobs of a ledger with `graphile_worker`, a job queue in PostgreSQL.
//!
//! - `cargo run -- feed`, one process, adds the names of open jobs to the queue.
//! - `cargo run -- work`, any number of processes, continues the jobs.
//!
//! DATABASE_URL has the ledger and the queue. Workers need IMAGEKILN_API_KEY and
//! IMAGEKILN_BASE_URL. `Jobs::add` and `kiln batch run --add-only` add jobs. A supervisor
//! restarts the processes.

use std::sync::{Arc, LazyLock};
use std::{env, time::Duration};

use chrono::Utc;
use graphile_worker::{IntoTaskHandlerResult, JobSpec, TaskHandler, WorkerContext};
use graphile_worker::{WorkerContextExt as _, WorkerOptions, WorkerUtils};
use imagekiln::ClientBuilder;
use imagekiln_batch::{Advanced, Batch, Dispatcher, Filter, JobState, Ledger};
use serde::{Deserialize, Serialize};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long the jobs and names of a killed worker wait, in the ledger and in the queue.
static LEASE: LazyLock<Duration> = LazyLock::new(|| {
    let seconds = env::var("LEASE_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(30))
});
/// When a name is delivered again after an error.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// The number of jobs that a process continues at the same time.
const CONCURRENCY: usize = 16;

/// What the queue delivers.
#[derive(Deserialize, Serialize)]
struct Advance {
    name: String,
}

impl TaskHandler for Advance {
    const IDENTIFIER: &'static str = "advance";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let dispatcher: &Arc<Dispatcher> = context.get_ext().expect("`work` adds it");
        let after = match dispatcher.advance(&self.name).await {
            Ok(Advanced::Ended(job)) => {
                println!("{} {}", job.name, job.state);
                return Ok(());
            }
            Ok(Advanced::Later(after)) => after,
            Ok(_) => AFTER_ERROR,
            Err(error) => {
                eprintln!("{}: {error}", self.name);
                AFTER_ERROR
            }
        };
        deliver(&context.utils(), self.name, after).await
    }
}

/// Adds a name to the queue. It has no `job_key`: if the queue takes the worker of a step for dead,
/// another delivery with the key of this step would be removed when the step ends.
async fn deliver(queue: &WorkerUtils, name: String, after: Duration) -> Result<(), Error> {
    // The queue must not give up a name that it could not deliver.
    let (run_at, max_attempts) = (Some(Utc::now() + after), Some(i16::MAX));
    let spec = JobSpec { run_at, max_attempts, ..JobSpec::default() };
    queue.add_job(Advance { name }, spec).await?;
    Ok(())
}

/// Adds the names of all open jobs, then those of new jobs and of jobs that a person opens again.
async fn feed(queue: &WorkerUtils, ledger: &Ledger) -> Result<(), Error> {
    use JobState::{Queued, Ready, Submitted, Submitting, Unknown};
    let mut watch = ledger.jobs().watch().await?;
    let open = Filter::states([Queued, Submitting, Submitted, Ready, Unknown]);
    let mut jobs = ledger.jobs().list(&open).await?;
    loop {
        for job in jobs {
            deliver(queue, job.name, Duration::ZERO).await?;
        }
        jobs = watch.changed().await?;
        jobs.retain(|job| matches!(job.state, Queued | Submitted));
    }
}

async fn work(options: WorkerOptions, ledger: Ledger) -> Result<(), Error> {
    let ledger = ledger.with_acceptance_log("acceptances").await?;
    let batch = Batch::open(ClientBuilder::from_env()?, ledger)?.save_to("pictures").lease(*LEASE);
    let dispatcher = Arc::new(batch.dispatcher().await?);
    let worker = options.add_extension(Arc::clone(&dispatcher)).init().await?;
    // After SIGTERM, this drops the calls that do not end within five seconds.
    let ended = worker.run().await;
    drop(worker);
    Arc::into_inner(dispatcher).ok_or("a call has not been dropped")?.finish().await?;
    Ok(ended?)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = env::var("DATABASE_URL")?;
    let ledger = Ledger::open(&url).await?;
    let options = WorkerOptions::default().database_url(&url).concurrency(CONCURRENCY);
    let options = options.define_job::<Advance>();
    // A worker without a heartbeat is dead. By default, nobody looks for one.
    let options = options.heartbeat_interval(*LEASE / 5).sweep_threshold(*LEASE);
    let options = options.sweep_interval(*LEASE / 5).recovery_delay(Duration::ZERO);
    match env::args().nth(1).as_deref() {
        Some("feed") => feed(&options.init().await?.create_utils(), &ledger).await,
        Some("work") => work(options, ledger).await,
        _ => Err("expected `feed` or `work`".into()),
    }
}
