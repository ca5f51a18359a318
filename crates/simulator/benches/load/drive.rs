//! Sends requests at a steady rate: each one at its time, whether or not earlier ones have
//! completed.

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::Bytes,
    http::{Method, Request},
};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::Client, client::legacy::connect::HttpConnector, rt::TokioExecutor,
};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

/// The operation whose tasks are ready at once.
pub const QUICK: &str = "gen-2-flex";

const BODY: &str = r#"{"prompt":"a red fox in the snow","width":512,"height":512,"seed":7}"#;

/// How many of twenty requests are of which kind.
#[derive(Clone, Copy)]
pub struct Mix {
    submissions: u32,
    /// Submissions whose picture is polled and fetched: three requests each.
    pictures: u32,
}

impl Mix {
    /// Eight submissions, six polls of active tasks, and two pictures that are submitted, polled
    /// and fetched. The number of active tasks does not grow.
    pub fn service() -> Self {
        Self { submissions: 8, pictures: 2 }
    }

    /// Twenty requests whose responses are ignored.
    pub fn constant() -> Self {
        Self { submissions: 20, pictures: 0 }
    }
}

#[derive(Default)]
pub struct Report {
    /// Of the responses to submissions and polls.
    pub responses: Latencies,
    /// Of pictures, which are rendered when they are fetched.
    pub pictures: Latencies,
    pub failed: u64,
    /// The errors, and how often each occurred.
    pub problems: BTreeMap<String, u64>,
    took: Duration,
}

impl Report {
    pub fn responses_per_second(&self) -> f64 {
        let count = self.responses.0.len() + self.pictures.0.len();
        count as f64 / self.took.as_secs_f64().max(f64::EPSILON)
    }
}

/// Latencies, sorted when the load has ended.
#[derive(Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// The latency that this fraction of them did not exceed.
    pub fn quantile(&self, part: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
    }
}

#[derive(Clone)]
pub struct Driver {
    client: Client<HttpConnector, Full<Bytes>>,
    base: Arc<str>,
    report: Arc<Mutex<Report>>,
    /// The polling URL of a task that stays active.
    active: Arc<Mutex<Option<String>>>,
}

impl Driver {
    pub fn new(base: &str) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            base: base.into(),
            report: Arc::default(),
            active: Arc::default(),
        }
    }

    /// Submits tasks that stay active, a few at a time.
    pub async fn fill(&self, count: u64) -> Result<(), Box<dyn Error>> {
        let mut in_progress = JoinSet::new();
        for _ in 0..count {
            while in_progress.len() >= 32 {
                in_progress.join_next().await;
            }
            let driver = self.clone();
            in_progress.spawn(async move { driver.submit("gen-2-pro").await });
        }
        in_progress.join_all().await;
        let mut report = self.lock();
        match std::mem::take(&mut *report) {
            Report { failed: 0, .. } => Ok(()),
            Report { problems, .. } => {
                Err(format!("the tasks were not accepted: {problems:?}").into())
            }
        }
    }

    /// Sends requests at a rate per second.
    pub async fn hold(&self, rate: u32, time: Duration, mix: Mix) -> Report {
        let mut in_progress = JoinSet::new();
        let start = Instant::now();
        let mut sent = 0;
        while start.elapsed() < time {
            sleep_until(start + Duration::from_secs(1) * sent / rate).await;
            let place = sent % 20;
            let driver = self.clone();
            if place < mix.submissions {
                sent += 1;
                in_progress.spawn(async move { drop(driver.submit(QUICK).await) });
            } else if place < mix.submissions + 3 * mix.pictures {
                sent += 3;
                in_progress.spawn(async move { driver.picture().await });
            } else {
                sent += 1;
                in_progress.spawn(async move { driver.poll().await });
            }
            while in_progress.try_join_next().is_some() {}
        }
        in_progress.join_all().await;
        let mut report = std::mem::take(&mut *self.lock());
        report.took = start.elapsed();
        report.responses.0.sort_unstable();
        report.pictures.0.sort_unstable();
        report
    }

    async fn submit(&self, operation: &str) -> Option<Value> {
        let url = format!("{}/v1/{operation}", self.base);
        let response = self.send(Method::POST, &url, BODY).await?;
        let task: Value = serde_json::from_slice(&response).ok()?;
        if let Some(address) = task["polling_url"].as_str().filter(|_| operation != QUICK) {
            *self.active.lock().unwrap_or_else(PoisonError::into_inner) = Some(address.to_owned());
        }
        Some(task)
    }

    async fn poll(&self) {
        let address = self.active.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(address) = address {
            self.send(Method::GET, &address, "").await;
        }
    }

    async fn picture(&self) {
        let Some(task) = self.submit(QUICK).await else { return };
        let Some(poll) =
            self.send(Method::GET, task["polling_url"].as_str().unwrap_or_default(), "").await
        else {
            return;
        };
        let poll: Value = serde_json::from_slice(&poll).unwrap_or_default();
        match poll["result"]["sample"].as_str() {
            Some(sample) => self.fetch(sample).await,
            None => self.fail("a task is not ready".to_owned()),
        }
    }

    async fn fetch(&self, url: &str) {
        if let Some((_, latency)) = self.exchange(Method::GET, url, "").await {
            self.lock().pictures.0.push(latency);
        }
    }

    async fn send(&self, method: Method, url: &str, body: &'static str) -> Option<Bytes> {
        let (response, latency) = self.exchange(method, url, body).await?;
        self.lock().responses.0.push(latency);
        Some(response)
    }

    /// Returns the body of the response, and the time to its end.
    async fn exchange(
        &self,
        method: Method,
        url: &str,
        body: &'static str,
    ) -> Option<(Bytes, Duration)> {
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header("x-key", "imagekiln-simulator-key")
            .header("content-type", "application/json")
            .body(Full::from(body));
        let begun = Instant::now();
        let exchange = async {
            let response = self.client.request(request.map_err(|error| error.to_string())?).await;
            let (head, body) = response.map_err(|error| error.to_string())?.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
            if head.status.is_success() { Ok(body) } else { Err(format!("status {}", head.status)) }
        };
        match exchange.await {
            Ok(body) => Some((body, begun.elapsed())),
            Err(problem) => {
                self.fail(problem);
                None
            }
        }
    }

    fn fail(&self, problem: String) {
        let mut report = self.lock();
        report.failed += 1;
        *report.problems.entry(problem).or_default() += 1;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
