//! Connections that break after a commit, so that nobody knows whether it happened: every
//! transaction runs twice.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use imagekiln_batch::{JobState, Ledger, Resolution};
use imagekiln_simulator::Config;
use imagekiln_testbed::{Trial, postgres::cluster};
use sqlx_postgres::PgConnectOptions;
use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream, tcp::OwnedWriteHalf, unix::OwnedReadHalf},
};

use crate::{
    support::{Fixture, PRICE, all, assert_equal, job, jobs, named, postgres, state},
    webhooks::delivery,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        postgres(a_batch_survives),
        postgres(what_a_person_decides_is_recorded_once),
        postgres(a_webhook_finds_its_task_once),
    ]
}

/// The tag with which PostgreSQL confirms a commit.
const COMMITTED: &[u8] = b"COMMIT\0";

/// A fixture, and its ledger behind a proxy that breaks the connection instead of passing on the
/// first confirmation of each transaction.
async fn broken() -> (Fixture, Ledger) {
    let url = cluster().create_database();
    // The first connection creates the tables.
    drop(Ledger::open(&url).await.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options: PgConnectOptions = url.parse().unwrap();
    let server = options.get_socket().unwrap().join(".s.PGSQL.5432");
    let database = options.get_database().unwrap();
    let proxy = format!("postgres://postgres@{}/{database}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        // A process has a second connection for exclusive transactions. Each of them comes back
        // after it broke, and then its transaction runs again.
        let broken = Arc::new(AtomicU32::new(0));
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = UnixStream::connect(&server).await.unwrap();
            let earlier = broken.load(Ordering::Relaxed);
            broken.store(earlier.saturating_sub(1), Ordering::Relaxed);
            let broken = Arc::clone(&broken);
            tokio::spawn(async move {
                pass_on(client, server, earlier > 0).await;
                broken.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    let fixture = Fixture::on(proxy, Config::default()).await;
    let ledger = fixture.ledger().await;
    (fixture, ledger)
}

/// Returns when the connection has ended, or should break.
async fn pass_on(client: TcpStream, server: UnixStream, confirms: bool) {
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    tokio::select! {
        _ = io::copy(&mut from_client, &mut to_server) => {}
        () = confirm(from_server, to_client, confirms) => {}
    }
}

/// Passes on what the server sends, until it confirms a commit. If `confirms`, the first
/// confirmation is passed on, too.
async fn confirm(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, mut confirms: bool) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length) = server.read(&mut buffer).await
        && length > 0
    {
        let bytes = &buffer[..length];
        if bytes.windows(COMMITTED.len()).any(|window| window == COMMITTED)
            && !std::mem::take(&mut confirms)
        {
            return;
        }
        if client.write_all(bytes).await.is_err() {
            return;
        }
    }
}

async fn a_batch_survives() {
    let (fixture, ledger) = broken().await;
    let report = fixture.batch(&ledger).jobs(jobs(4)).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (4, 4));
    assert_equal(report.credits(), 4.0 * PRICE);
    let numbers: Vec<_> = all(&ledger).await.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

async fn what_a_person_decides_is_recorded_once() {
    let (fixture, ledger) = broken().await;
    let jobs = [
        job("paid", "a fox [[reply-lost]]"),
        job("not paid", "a wolf [[reply-lost]]"),
        job("failed", "an owl [[error]]"),
    ];
    fixture.batch(&ledger).jobs(jobs).run().await.unwrap();
    let paid = ledger.jobs().resolve("paid", Resolution::Paid).await.unwrap();
    let not_paid = ledger.jobs().resolve("not paid", Resolution::NotPaid).await.unwrap();
    let states = [paid, not_paid].map(|job| job.state);
    assert_eq!(states, [JobState::Failed, JobState::Queued]);
    assert_eq!(ledger.jobs().retry(&named("failed"), None).await.unwrap(), 1);
    assert_eq!(state(&ledger, "failed").await, JobState::Queued);
    for name in ["paid", "not paid", "failed"] {
        assert_eq!(ledger.jobs().forget(&named(name)).await.unwrap(), 1);
    }
    assert!(all(&ledger).await.is_empty());
}

async fn a_webhook_finds_its_task_once() {
    let (fixture, ledger) = broken().await;
    let batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks");
    let mut batch = batch.jobs([job("lost", "a fox [[reply-lost]]")]);
    batch.run().await.unwrap();
    ledger.jobs().resolve("lost", Resolution::NotPaid).await.unwrap();
    let (token, event) = delivery(&fixture);
    batch.callbacks().receive(&token, &event).await.unwrap();
    assert_eq!(state(&ledger, "lost").await, JobState::Submitted);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
}
