//! Continues the jobs of a ledger with `graphile_worker`, a job queue in PostgreSQL.
//!
//! ```console
//! $ cargo run -- feed     # one process: adds the names of open jobs to the queue
//! $ cargo run -- work     # any number of processes: continue the jobs
//! ```
//!
//! Both need DATABASE_URL, which has the ledger and the queue. Workers also need IMAGEKILN_API_KEY
//! and IMAGEKILN_BASE_URL, and save below `pictures`. `Ledger::add`, or `kiln batch run --add-only`,
//! adds jobs.

use std::{env, fmt, sync::Arc, time::Duration};

use chrono::Utc;
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, TaskHandler, Worker, WorkerContext, WorkerContextExt as _,
    WorkerOptions, WorkerUtils,
};
use imagekiln::ClientBuilder;
use imagekiln_batch::{
    Advanced, Batch, Dispatcher, Filter,
    JobState::{Queued, Ready, Submitted, Submitting, Unknown},
    Ledger,
};
use serde::{Deserialize, Serialize};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long others wait for a worker that was killed. The ledger and the queue use the same time.
const LEASE: Duration = Duration::from_secs(10);
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
        let Shared(dispatcher) = context.get_ext().expect("added in `work`");
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
        deliver(&context.utils(), &self.name, after).await
    }
}

/// Adds a name to the queue. An older delivery of this name that has not started is replaced.
async fn deliver(queue: &WorkerUtils, name: &str, after: Duration) -> Result<(), Error> {
    let spec = JobSpec {
        job_key: Some(name.to_owned()),
        run_at: Some(Utc::now() + after),
        // A failed delivery, such as one that could not be added again, is repeated.
        max_attempts: Some(i16::MAX),
        ..JobSpec::default()
    };
    queue.add_job(Advance { name: name.to_owned() }, spec).await?;
    Ok(())
}

/// What a handler finds in its context.
#[derive(Clone)]
struct Shared(Arc<Dispatcher>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

/// Adds the names of all open jobs, then those of new jobs and of jobs that a person opens again.
async fn feed(queue: &WorkerUtils, ledger: &Ledger) -> Result<(), Error> {
    let mut watch = ledger.watch().await?;
    let open = Filter::all().states([Queued, Submitting, Submitted, Ready, Unknown]);
    for job in ledger.list(&open, 0, usize::MAX).await? {
        deliver(queue, &job.name, Duration::ZERO).await?;
    }
    loop {
        for job in watch.changed().await? {
            if matches!(job.state, Queued | Submitted) {
                deliver(queue, &job.name, Duration::ZERO).await?;
            }
        }
    }
}

async fn work(options: WorkerOptions, ledger: Ledger) -> Result<(), Error> {
    let ledger = ledger.with_acceptance_log("acceptances").await?;
    let batch = Batch::open(ClientBuilder::from_env()?, ledger)?.save_to("pictures").lease(LEASE);
    let dispatcher = Arc::new(batch.dispatcher().await?);
    let worker = options.add_extension(Shared(Arc::clone(&dispatcher))).init().await?;
    // Returns after SIGTERM, when the calls have ended or were dropped.
    let ended = worker.run().await;
    drop(worker);
    if let Some(dispatcher) = Arc::into_inner(dispatcher) {
        dispatcher.finish().await?;
    }
    Ok(ended?)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = env::var("DATABASE_URL")?;
    let ledger = Ledger::connect(&url).await?;
    let options = WorkerOptions::default()
        .database_url(&url)
        .concurrency(CONCURRENCY)
        .define_job::<Advance>()
        // The names that a killed process had are delivered again.
        .heartbeat_interval(LEASE / 5)
        .sweep_interval(LEASE / 5)
        .sweep_threshold(LEASE)
        .recovery_delay(Duration::ZERO);
    match env::args().nth(1).as_deref() {
        Some("feed") => feed(&Worker::create_utils(&options.init().await?), &ledger).await,
        Some("work") => work(options, ledger).await,
        _ => Err("expected `feed` or `work`".into()),
    }
}
