//! The number of active tasks that a service allows, which a client without a limit finds out.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{self, Instant},
};

use crate::support::{
    done,
    reply::Reply,
    samples::{self, assert_kind, client, fox, ready, seconds, served},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Billing, Client, Error, ErrorKind, SubmitOptions, Task};

/// The number of pictures.
const MANY: usize = 100;

/// What a service counts.
#[derive(Default)]
struct Counts {
    refused: AtomicUsize,
    /// When each task ends.
    ends: Mutex<Vec<Instant>>,
}

impl Counts {
    fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    fn active(&self) -> usize {
        self.ends.lock().unwrap().iter().filter(|end| **end > Instant::now()).count()
    }
}

fn busy() -> Reply {
    Reply::json(429, &json!({ "detail": "too many active tasks" }))
}

/// Allows a number of active tasks, each of which takes this long.
fn allow(service: &ScriptedServer, allowed: usize, duration: Duration) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    let (authority, delivery) = (service.authority(), samples::delivery_url(service));
    let seen = Arc::clone(&counts);
    service.otherwise(move |request| {
        if let Some((_, number)) = request.target.rsplit_once("/poll/") {
            let end = seen.ends.lock().unwrap()[number.parse::<usize>().unwrap()];
            return if end > Instant::now() {
                samples::status("Pending")
            } else {
                Reply::json(200, &samples::ready_body(&delivery))
            };
        }
        if seen.active() == allowed {
            seen.refused.fetch_add(1, Ordering::Relaxed);
            return busy().header("Retry-After", "1");
        }
        let mut ends = seen.ends.lock().unwrap();
        let polling_url = format!("http://{authority}/poll/{}", ends.len());
        let accepted = json!({ "id": ends.len().to_string(), "polling_url": polling_url });
        ends.push(Instant::now() + duration);
        Reply::json(200, &accepted)
    });
    counts
}

fn submit(client: &Client, options: SubmitOptions) -> JoinHandle<Result<Task, Error>> {
    let client = client.clone();
    tokio::spawn(async move { client.submit_with(fox(), options).await })
}

/// Makes pictures, all at once.
fn make_many(client: &Client) -> JoinSet<()> {
    let make = |client: Client| async move {
        let task = client.submit(fox()).await.unwrap();
        let _ = task.wait().await.unwrap();
    };
    (0..MANY).map(|_| make(client.clone())).collect()
}

/// Returns a client with a task, and a submission that was refused because of it.
async fn refused(service: &ScriptedServer, options: SubmitOptions) -> (Client, Task, Refused) {
    let client = client(service);
    service.reply(samples::accepted(service, "t1"));
    let first = client.submit(fox()).await.unwrap();
    service.reply(busy().header("Retry-After", "100"));
    let second = submit(&client, options);
    service.wait_for_requests(2).await;
    settle().await;
    (client, first, second)
}

type Refused = JoinHandle<Result<Task, Error>>;

#[tokio::test(start_paused = true)]
async fn a_service_that_allows_six_tasks_refuses_few_submissions() {
    for duration in [1, 5].map(seconds) {
        let service = ScriptedServer::start().await;
        let counts = allow(&service, 6, duration);
        done(make_many(&client(&service)).join_all()).await;
        assert_eq!(service.posts().len(), MANY + counts.refused());
        assert!((1..=10).contains(&counts.refused()), "{} of {duration:?}", counts.refused());
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_tasks_are_active_as_the_service_allows() {
    for allowed in [24, 200] {
        let service = ScriptedServer::start().await;
        let counts = allow(&service, allowed, seconds(10));
        let making = make_many(&client(&service));
        time::sleep(seconds(2)).await;
        assert_eq!(counts.active(), allowed.min(MANY));
        assert_eq!(counts.refused() == 0, allowed > MANY);
        done(making.join_all()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_submission_is_sent_as_soon_as_a_task_has_ended() {
    let service = ScriptedServer::start().await;
    let (_client, first, second) = refused(&service, SubmitOptions::default()).await;
    service.reply(ready(&service)).reply(samples::accepted(&service, "t2"));
    let started = Instant::now();
    first.poll().await.unwrap();
    assert_eq!(done(second).await.unwrap().unwrap().id(), "t2");
    assert!(started.elapsed() < seconds(1));
    assert_eq!(service.posts().len(), 3);
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn tasks_that_nobody_waits_for_are_polled_after_a_refusal() {
    let service = ScriptedServer::start().await;
    let (_client, first, second) = refused(&service, SubmitOptions::default()).await;
    drop(first);
    service.reply(samples::status("Pending")).reply(ready(&service));
    service.reply(samples::accepted(&service, "t2"));
    assert_eq!(done(second).await.unwrap().unwrap().id(), "t2");
}

/// Nothing can free a slot, so only the service can decide.
#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_polled_does_not_hold_up_a_refused_submission() {
    let (service, client) = served().await;
    let elsewhere = json!({ "id": "t1", "polling_url": "https://elsewhere.example/poll" });
    service.reply(Reply::json(200, &elsewhere)).reply(busy());
    service.reply(samples::accepted(&service, "t2"));
    let _ = client.submit(fox()).await.unwrap();
    let started = Instant::now();
    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t2");
    assert!(started.elapsed() < seconds(3), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_refused_submission_that_waits_for_a_task_ends_like_one_that_waits_for_its_retry() {
    let service = ScriptedServer::start().await;
    let limited = SubmitOptions::default().deadline(seconds(2));
    let (_client, _first, second) = refused(&service, limited).await;
    service.otherwise(|_| samples::status("Pending"));
    let started = Instant::now();
    let error = done(second).await.unwrap().unwrap_err();
    assert_eq!((error.status(), error.billing()), (Some(429), Billing::NotBilled));
    assert!(started.elapsed() <= seconds(2));
    assert_eq!(service.posts().len(), 2);

    let service = ScriptedServer::start().await;
    let (client, first, second) = refused(&service, SubmitOptions::default()).await;
    let waiting = submit(&client, SubmitOptions::default());
    settle().await;
    client.stop_retrying_submissions();
    let error = done(second).await.unwrap().unwrap_err();
    assert_eq!((error.status(), error.billing()), (Some(429), Billing::NotBilled));
    let error = done(waiting).await.unwrap().unwrap_err();
    assert_kind(&error, ErrorKind::RateLimited);
    assert_eq!((error.status(), error.billing()), (None, Billing::NotBilled));
    assert_eq!((service.posts().len(), first.id()), (2, "t1"));

    let service = ScriptedServer::start().await;
    let (client, first, second) = refused(&service, SubmitOptions::default()).await;
    second.abort();
    service.reply(ready(&service));
    first.poll().await.unwrap();
    settle().await;
    assert_eq!(client.drain(seconds(1)).await.unwrap(), []);
    assert_eq!(service.posts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_a_submission_that_may_not_wait_is_sent() {
    let service = ScriptedServer::start().await;
    let (client, _first, second) = refused(&service, SubmitOptions::default()).await;
    service.reply(samples::accepted(&service, "t2"));
    assert_eq!(samples::try_submit(&client).await.unwrap().id(), "t2");
    second.abort();
}

/// Another process may poll them.
#[tokio::test(start_paused = true)]
async fn submissions_without_a_refusal_do_not_wait() {
    let service = ScriptedServer::start().await;
    allow(&service, usize::MAX, seconds(3600));
    let client = client(&service);
    let started = Instant::now();
    for _ in 0..MANY {
        let _ = client.submit(fox()).await.unwrap();
    }
    let submitting: JoinSet<_> = (0..MANY)
        .map(|_| {
            let client = client.clone();
            async move { client.submit(fox()).await.unwrap() }
        })
        .collect();
    assert_eq!(done(submitting.join_all()).await.len(), MANY);
    assert!(started.elapsed() < seconds(1), "{:?}", started.elapsed());
    assert!(service.polls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn slow_responses_delay_other_submissions_for_a_second_only() {
    let service = ScriptedServer::start().await;
    for _ in 0..8 {
        service.reply(Reply::silence());
    }
    let client = client(&service);
    let slow: Vec<_> = (0..8).map(|_| submit(&client, SubmitOptions::default())).collect();
    service.wait_for_requests(8).await;
    service.reply(samples::accepted(&service, "t9"));
    let started = Instant::now();
    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t9");
    assert!(started.elapsed() <= seconds(2), "{:?}", started.elapsed());
    slow.iter().for_each(JoinHandle::abort);
}
