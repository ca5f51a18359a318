//! When tasks are polled, on a paused clock: how late their pictures are found, and with how many
//! requests.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use serde_json::json;
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use crate::support::{
    reply::Reply,
    samples::{self, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client, Task,
    webhook::{Receiver, Verifier},
};

/// A service whose tasks take the given durations.
struct Service {
    server: ScriptedServer,
    tasks: Arc<Mutex<HashMap<String, Timeline>>>,
}

struct Timeline {
    accepted: Instant,
    duration: Duration,
    polls: u32,
    found_after: Option<Duration>,
}

impl Service {
    async fn start(duration: impl Fn(usize) -> f64 + Send + Sync + 'static) -> Self {
        let server = ScriptedServer::start().await;
        let tasks = Arc::<Mutex<HashMap<String, Timeline>>>::default();
        let (known, authority) = (Arc::clone(&tasks), server.authority());
        server.otherwise(move |request| {
            let mut tasks = known.lock().unwrap();
            if request.method == "POST" {
                let id = format!("t{}", tasks.len());
                let duration = Duration::from_secs_f64(duration(tasks.len()));
                let accepted = Instant::now();
                let timeline = Timeline { accepted, duration, polls: 0, found_after: None };
                tasks.insert(id.clone(), timeline);
                let polling_url = format!("http://{authority}/poll/{id}");
                return Reply::json(200, &json!({ "id": id, "polling_url": polling_url }));
            }
            let task = tasks.get_mut(request.target.trim_start_matches("/poll/")).unwrap();
            task.polls += 1;
            match task.accepted.elapsed().checked_sub(task.duration) {
                Some(late) => {
                    task.found_after = Some(late);
                    let address = format!("http://{authority}/fox.png");
                    Reply::json(200, &samples::ready_body(&address))
                }
                None => samples::status("Pending"),
            }
        });
        Self { server, tasks }
    }

    /// The mean lateness in seconds and the mean number of polls of the tasks from this one.
    fn mean_from(&self, first: usize) -> (f64, f64) {
        let tasks = self.tasks.lock().unwrap();
        let tasks: Vec<_> =
            (first..tasks.len()).map(|index| &tasks[&format!("t{index}")]).collect();
        let late = tasks.iter().map(|task| task.found_after.unwrap().as_secs_f64()).sum::<f64>();
        let polls = tasks.iter().map(|task| f64::from(task.polls)).sum::<f64>();
        (late / tasks.len() as f64, polls / tasks.len() as f64)
    }

    fn client(&self, seed: u64) -> Client {
        samples::builder(&self.server).random_seed(seed).max_active(24).build().unwrap()
    }
}

async fn submit(client: &Client) -> Task {
    client.submit(fox()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_warmed_client_is_early_with_few_polls() {
    for duration in [1.63, 4.21, 9.37] {
        let service = Service::start(move |_| duration).await;
        let client = service.client(1);
        for _ in 0..30 {
            let _ = submit(&client).await.wait().await.unwrap();
        }
        let (late, polls) = service.mean_from(10);
        assert!(late <= 0.1 + 0.02 * duration, "{duration}: {late}");
        assert!(polls <= 5.0, "{duration}: {polls}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_task_of_a_client_is_early_with_few_polls() {
    for duration in [1.63, 4.21, 9.37] {
        let service = Service::start(move |index| duration * (0.9 + 0.005 * index as f64)).await;
        for seed in 0..40 {
            let _ = submit(&service.client(seed)).await.wait().await.unwrap();
        }
        let (late, _) = service.mean_from(0);
        assert!(late <= 0.3 + 0.035 * duration, "{duration}: {late}");
        for task in service.tasks.lock().unwrap().values() {
            let every_half_second = (task.duration.as_secs_f64() * 2.0).ceil() as u32;
            assert!(task.polls <= every_half_second, "{:?}: {}", task.duration, task.polls);
        }
    }
}

/// The first tasks that are ready move the polls of the others. The least possible time is that of
/// three tasks after each other.
#[tokio::test(start_paused = true)]
async fn seventy_two_pictures_take_little_longer_than_their_tasks() {
    for (duration, most, polls_allowed) in
        [(1.63, 1.09, 2.9), (4.21, 1.04, 4.9), (9.37, 1.025, 7.5)]
    {
        let (mut ratios, mut polls) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let service = Service::start(move |_| duration).await;
            let started = Instant::now();
            make_seventy_two(&service.client(seed)).await;
            ratios += started.elapsed().as_secs_f64() / (3.0 * duration);
            polls += service.mean_from(0).1;
        }
        let (ratio, polls) = (ratios / SEEDS as f64, polls / SEEDS as f64);
        assert!(ratio <= most, "{duration}: {ratio}");
        assert!(polls <= polls_allowed, "{duration}: {polls}");
    }
}

const SEEDS: u64 = 6;

/// Makes 72 pictures, 24 at once.
async fn make_seventy_two(client: &Client) {
    let active = Arc::new(Semaphore::new(24));
    let mut pictures = JoinSet::new();
    for _ in 0..72 {
        let (client, active) = (client.clone(), Arc::clone(&active));
        pictures.spawn(async move {
            let _active = active.acquire().await;
            let _ = submit(&client).await.wait().await.unwrap();
        });
    }
    pictures.join_all().await;
}

/// A memory never makes a task later than twice its duration and a second.
#[tokio::test(start_paused = true)]
async fn a_task_that_takes_longer_than_the_last_ones_is_found() {
    let durations = [0.5, 0.5, 1.1, 2.0, 4.3, 0.4, 43.0, 4.0, 0.2];
    let service = Service::start(move |index| durations[index]).await;
    let client = service.client(1);
    for duration in durations {
        let _ = submit(&client).await.wait().await.unwrap();
        let tasks = service.tasks.lock().unwrap();
        let task = &tasks[&format!("t{}", tasks.len() - 1)];
        assert!(task.found_after.unwrap().as_secs_f64() <= duration + 1.0, "{duration}");
    }
}

/// The age counts from the acceptance.
#[tokio::test(start_paused = true)]
async fn a_wait_that_begins_late_polls_immediately() {
    let service = Service::start(|_| 4.0).await;
    let (client, other) = (service.client(1), service.client(2));
    let task = submit(&client).await;
    tokio::time::sleep(samples::seconds(10)).await;
    let begun = Instant::now();
    let _ = task.wait().await.unwrap();
    // Another process has only the reference.
    let _ = other.task(task.reference().clone()).wait().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
}

/// A clock that was set between two processes makes the age wrong, but the polls stay frequent.
#[tokio::test(start_paused = true)]
async fn a_resumed_task_of_any_age_is_polled_every_half_minute() {
    let service = Service::start(|_| 100_000.0).await;
    let reference = submit(&service.client(1)).await.reference().clone();
    let started = Instant::now();
    let year = Duration::from_secs(365 * 86_400);
    let later = samples::builder(&service.server).wall_clock(move || {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + year + started.elapsed()
    });
    let wait = later.build().unwrap().task(reference).wait_with(samples::deadline(300));
    wait.await.unwrap_err();
    let polls = service.tasks.lock().unwrap()["t0"].polls;
    assert!(polls >= 10, "{polls}");
}

/// A receiver makes polls rare, but a task is found without an event, too. Then the polls of the
/// next one come as if there were no receiver.
#[tokio::test(start_paused = true)]
async fn polls_are_rare_until_an_event_is_missing() {
    let service = Service::start(|_| 9.37).await;
    let client = service.client(1);
    let verifier = Verifier::hmac_sha256("secret");
    let _webhooks = Receiver::new(client.clone(), verifier).router(|_| async {}).unwrap();
    for _ in 0..2 {
        let request = fox().webhook_url("https://example.com/hook");
        let _ = client.submit(request).await.unwrap().wait().await.unwrap();
    }
    let tasks = service.tasks.lock().unwrap();
    let [first, second] = ["t0", "t1"].map(|id| (tasks[id].polls, tasks[id].found_after.unwrap()));
    assert_eq!(first.0, 4);
    assert!(first.1 <= Duration::from_secs_f64(9.37 + 1.0), "{:?}", first.1);
    assert!(second.1 < first.1 / 2, "{:?}", second.1);
}

/// What a client has seen is enough for the next one. A client of another service ignores it.
#[tokio::test(start_paused = true)]
async fn durations_are_kept_for_the_next_client() {
    let (service, other) = (Service::start(|_| 4.21).await, Service::start(|_| 4.21).await);
    let client = service.client(1);
    for _ in 0..10 {
        let _ = submit(&client).await.wait().await.unwrap();
    }
    let kept = serde_json::to_string(&client.durations()).unwrap();
    assert!(!kept.contains(samples::KEY) && !kept.contains("/poll/"), "{kept}");
    for service in [&service, &other] {
        let known = serde_json::from_str(&kept).unwrap();
        let client = samples::builder(&service.server).durations(known).build().unwrap();
        let _ = submit(&client).await.wait().await.unwrap();
    }
    let (late, polls) = service.mean_from(10);
    assert!(late <= 0.184 && polls <= 3.0, "{late} {polls}");
    assert!(other.mean_from(0).1 > 5.0, "{}", other.mean_from(0).1);
}
