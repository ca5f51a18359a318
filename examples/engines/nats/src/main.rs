//! Continues the jobs of a ledger with a work queue of NATS JetStream, on three servers.
//!
//! ```console
//! $ cargo run -- feed     # one process: adds the names of open jobs to the queue
//! $ cargo run -- work     # any number of processes: continue the jobs
//! ```
//!
//! Both need DATABASE_URL, which has the ledger, and NATS_URL, the servers, separated by commas.
//! Workers also need IMAGEKILN_API_KEY and IMAGEKILN_BASE_URL, and save below `pictures`.
//! `Ledger::add`, or `kiln batch run --add-only`, adds jobs.

use std::{env, time::Duration};

use async_nats::{
    ConnectOptions,
    jetstream::{
        self, AckKind, Context, Message,
        consumer::{PullConsumer, pull},
        stream::{self, RetentionPolicy},
    },
};
use futures_util::{StreamExt as _, future::join_all};
use imagekiln::ClientBuilder;
use imagekiln_batch::{
    Advanced, Batch, Dispatcher, Filter,
    JobState::{Queued, Ready, Submitted, Submitting, Unknown},
    Ledger,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{interval, sleep},
};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long others wait for a worker that was killed. The ledger and the queue use the same time.
const LEASE: Duration = Duration::from_secs(10);
/// When a name is delivered again after an error.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// The number of jobs that a process continues at the same time.
const CONCURRENCY: usize = 16;
/// The stream, and the subject of its messages.
const QUEUE: &str = "advance";

/// Adds the names of all open jobs, then those of new jobs and of jobs that a person opens again.
async fn feed(queue: &Context, ledger: &Ledger) -> Result<(), Error> {
    let mut watch = ledger.watch().await?;
    let open = Filter::all().states([Queued, Submitting, Submitted, Ready, Unknown]);
    for job in ledger.list(&open, 0, usize::MAX).await? {
        // The second wait is for the acknowledgement of a majority of the servers.
        queue.publish(QUEUE, job.name.into()).await?.await?;
    }
    loop {
        for job in watch.changed().await? {
            if matches!(job.state, Queued | Submitted) {
                queue.publish(QUEUE, job.name.into()).await?.await?;
            }
        }
    }
}

/// Continues one job after the other.
async fn work(consumer: &PullConsumer, dispatcher: &Dispatcher) {
    loop {
        if let Err(error) = work_once(consumer, dispatcher).await {
            eprintln!("{error}");
            sleep(AFTER_ERROR).await;
        }
    }
}

async fn work_once(consumer: &PullConsumer, dispatcher: &Dispatcher) -> Result<(), Error> {
    let fetched = consumer.fetch().max_messages(1).expires(AFTER_ERROR).messages().await?;
    let mut messages = Box::pin(fetched);
    while let Some(message) = messages.next().await {
        let message = message?;
        let acknowledgement = advance(&message, dispatcher).await?;
        // If this is lost, the message is delivered again after `LEASE`.
        message.ack_with(acknowledgement).await?;
    }
    Ok(())
}

async fn advance(message: &Message, dispatcher: &Dispatcher) -> Result<AckKind, Error> {
    let name = str::from_utf8(&message.payload)?;
    let mut advance = Box::pin(dispatcher.advance(name));
    let mut progress = interval(LEASE / 5);
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
    let ledger = Ledger::connect(&env::var("DATABASE_URL")?).await?;
    let servers: Vec<_> = env::var("NATS_URL")?.split(',').map(str::to_owned).collect();
    let queue = jetstream::new(ConnectOptions::new().connect(servers).await?);
    let stream = queue.get_or_create_stream(stream::Config {
        name: QUEUE.into(),
        retention: RetentionPolicy::WorkQueue,
        num_replicas: 3,
        ..Default::default()
    });
    let settings =
        pull::Config { durable_name: Some(QUEUE.into()), ack_wait: LEASE, ..Default::default() };
    let consumer = stream.await?.get_or_create_consumer(QUEUE, settings).await?;
    match env::args().nth(1).as_deref() {
        Some("feed") => return feed(&queue, &ledger).await,
        Some("work") => {}
        _ => return Err("expected `feed` or `work`".into()),
    }
    let ledger = ledger.with_acceptance_log("acceptances").await?;
    let batch = Batch::open(ClientBuilder::from_env()?, ledger)?.save_to("pictures").lease(LEASE);
    let dispatcher = batch.dispatcher().await?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = join_all((0..CONCURRENCY).map(|_| work(&consumer, &dispatcher))) => {}
        _ = terminate.recv() => {}
    }
    Ok(dispatcher.finish().await?)
}
