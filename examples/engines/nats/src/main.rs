//! Continues the jobs of a ledger with a queue of NATS JetStream, which three servers replicate.
//!
//! - `cargo run -- feed`, one process, adds the names of open jobs to the queue.
//! - `cargo run -- work`, any number of processes, continues the jobs.
//!
//! DATABASE_URL has the ledger, NATS_URL the servers, separated by commas. Workers need
//! IMAGEKILN_API_KEY and IMAGEKILN_BASE_URL. `Jobs::add` and `kiln batch run --add-only` add
//! jobs. A supervisor restarts the processes.

use std::{env, sync::LazyLock, time::Duration};

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::stream::{self, RetentionPolicy};
use async_nats::jetstream::{self, AckKind, Context, Message};
use futures_util::{StreamExt as _, future::join_all};
use imagekiln::ClientBuilder;
use imagekiln_batch::{Advanced, Batch, Dispatcher, Filter, JobState, Ledger};
use tokio::{signal::unix, time};

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
/// The name of the stream, of its consumer, and the subject of its messages.
const QUEUE: &str = "advance";

/// Adds the names of all open jobs, then those of new jobs and of jobs that a person opens again.
async fn feed(queue: &Context, ledger: &Ledger) -> Result<(), Error> {
    use JobState::{Queued, Ready, Submitted, Submitting, Unknown};
    let mut watch = ledger.jobs().watch().await?;
    let open = Filter::states([Queued, Submitting, Submitted, Ready, Unknown]);
    let mut jobs = ledger.jobs().list(&open).await?;
    loop {
        for job in jobs {
            // Waits until a majority of the servers has the message.
            queue.publish(QUEUE, job.name.into()).await?.await?;
        }
        jobs = watch.changed().await?;
        jobs.retain(|job| matches!(job.state, Queued | Submitted));
    }
}

/// Continues one job after the other.
async fn work(consumer: &PullConsumer, dispatcher: &Dispatcher) {
    loop {
        if let Err(error) = deliver(consumer, dispatcher).await {
            eprintln!("{error}");
            time::sleep(AFTER_ERROR).await;
        }
    }
}

/// Waits for a message for a few seconds.
async fn deliver(consumer: &PullConsumer, dispatcher: &Dispatcher) -> Result<(), Error> {
    let mut messages = consumer.fetch().max_messages(1).expires(AFTER_ERROR).messages().await?;
    while let Some(message) = messages.next().await.transpose()? {
        // If this is lost, the message is delivered again after `LEASE`.
        message.ack_with(advance(&message, dispatcher).await?).await?;
    }
    Ok(())
}

async fn advance(message: &Message, dispatcher: &Dispatcher) -> Result<AckKind, Error> {
    let name = str::from_utf8(&message.payload)?;
    let mut advance = Box::pin(dispatcher.advance(name));
    let mut progress = time::interval(*LEASE / 5);
    let advanced = loop {
        tokio::select! {
            advanced = &mut advance => break advanced,
            // The message stays hidden from others for another `LEASE`.
            _ = progress.tick() => message.ack_with(AckKind::Progress).await?,
        }
    };
    Ok(match advanced {
        Ok(Advanced::Ended(job)) => {
            println!("{} {}", job.name, job.state);
            AckKind::Ack
        }
        Ok(Advanced::Later(after)) => AckKind::Nak(Some(after)),
        Ok(_) => AckKind::Nak(Some(AFTER_ERROR)),
        Err(error) => {
            eprintln!("{name}: {error}");
            AckKind::Nak(Some(AFTER_ERROR))
        }
    })
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let ledger = Ledger::open(env::var("DATABASE_URL")?).await?;
    let servers: Vec<_> = env::var("NATS_URL")?.split(',').map(str::to_owned).collect();
    let queue = jetstream::new(async_nats::connect(servers).await?);
    let (name, retention, num_replicas) = (QUEUE.to_owned(), RetentionPolicy::WorkQueue, 3);
    let stream = stream::Config { name, retention, num_replicas, ..Default::default() };
    let stream = queue.get_or_create_stream(stream).await?;
    if env::args().nth(1).is_some_and(|role| role == "feed") {
        return feed(&queue, &ledger).await;
    }
    // Messages that wait after `Later` count as pending, too.
    let (ack_wait, max_ack_pending, durable_name) = (*LEASE, -1, Some(QUEUE.to_owned()));
    let settings = pull::Config { ack_wait, max_ack_pending, durable_name, ..Default::default() };
    let consumer = stream.get_or_create_consumer(QUEUE, settings).await?;
    let ledger = ledger.with_acceptance_log("acceptances").await?;
    let batch = Batch::open(ClientBuilder::from_env()?, ledger)?.save_to("pictures").lease(*LEASE);
    let dispatcher = batch.dispatcher().await?;
    let mut terminate = unix::signal(unix::SignalKind::terminate())?;
    tokio::select! {
        _ = join_all((0..CONCURRENCY).map(|_| work(&consumer, &dispatcher))) => {}
        _ = terminate.recv() => {}
    }
    Ok(dispatcher.finish().await?)
}
