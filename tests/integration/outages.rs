//! Outages of the service: how many submissions they cost, and when a client submits again.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{task::JoinSet, time};

use crate::support::{
    reply::Reply,
    samples::{self, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    Billing, Error, ErrorKind, SubmitOptions,
    middleware::{Middleware, Retry},
};

/// The announced waits for the end of an outage, in seconds.
#[derive(Clone, Default)]
struct Pauses(Arc<Mutex<BTreeSet<u64>>>);

impl Middleware for Pauses {
    fn retry(&self, retry: &Retry<'_>) {
        assert_eq!((retry.error.kind(), retry.failures), (ErrorKind::Outage, 0));
        self.0.lock().unwrap().insert(retry.wait.as_secs_f64().round() as u64);
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// A service that responds with 500, or accepts submissions once the returned flag is set.
async fn failing() -> (Arc<ScriptedServer>, Arc<AtomicBool>) {
    let service = Arc::new(ScriptedServer::start().await);
    let works = Arc::new(AtomicBool::new(false));
    let (is_up, url) = (Arc::clone(&works), samples::polling_url(&service, "t1"));
    service.otherwise(move |_| {
        if is_up.load(Ordering::Relaxed) {
            Reply::json(200, &json!({ "id": "t1", "polling_url": url }))
        } else {
            Reply::status(500)
        }
    });
    (service, works)
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_500s_costs_a_handful() {
    let (service, works) = failing().await;
    let pauses = Pauses::default();
    let client = samples::builder(&service).middleware(pauses.clone()).build().unwrap();
    let mut submissions = JoinSet::new();
    for _ in 0..40 {
        let client = client.clone();
        submissions.spawn(async move { client.submit(fox()).await });
    }
    time::sleep(HOUR).await;
    let during = service.posts().len();
    // The first eight, those that started before the third outcome, and the probes.
    assert!((8 + 2..=8 + 2 + 15).contains(&during), "{during}");
    works.store(true, Ordering::Relaxed);
    let outcomes = submissions.join_all().await;
    let lost = |outcome: &&Result<_, Error>| {
        outcome.as_ref().is_err_and(|error| error.billing() == Billing::Unknown)
    };
    assert_eq!(outcomes.iter().filter(lost).count(), during);
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 40 - during);
    assert_eq!(service.posts().len(), 40);
    let announced = pauses.0.lock().unwrap().clone();
    // Those that wait look every few seconds.
    assert!(announced.len() > 5 && announced.last() > Some(&590), "{announced:?}");
    assert!(announced.last() <= Some(&600), "{announced:?}");
}

#[tokio::test(start_paused = true)]
async fn a_submission_with_a_deadline_says_why_it_was_not_sent() {
    let (service, works) = failing().await;
    let client = samples::client(&service);
    for _ in 0..3 {
        assert_eq!(client.submit(fox()).await.unwrap_err().billing(), Billing::Unknown);
    }
    let soon = SubmitOptions::default().deadline(Duration::from_millis(300));
    let error = client.submit_with(fox(), soon).await.unwrap_err();
    assert_eq!((error.kind(), error.billing()), (ErrorKind::Outage, Billing::NotBilled));
    assert!(error.is_transient(), "{error}");
    assert!(error.retry_after().is_some_and(|wait| wait <= Duration::from_secs(1)), "{error}");
    assert_eq!(service.posts().len(), 3);

    // Polls and pictures are not affected.
    works.store(true, Ordering::Relaxed);
    let task = client.submit(fox()).await.unwrap();
    assert_eq!((task.id(), service.posts().len()), ("t1", 4));
}

/// Only the caller of a probe knows what became of it. Another submission takes its place.
#[tokio::test(start_paused = true)]
async fn a_probe_that_is_not_sent_is_replaced() {
    let (service, works) = failing().await;
    let client = samples::client(&service);
    for _ in 0..3 {
        client.submit(fox()).await.unwrap_err();
    }
    works.store(true, Ordering::Relaxed);
    drop(client.slot().await.unwrap());
    let soon = SubmitOptions::default().deadline(Duration::from_secs(2));
    assert!(client.submit_with(fox(), soon).await.is_ok());
}
