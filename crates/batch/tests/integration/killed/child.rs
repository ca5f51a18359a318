//! A worker process: the test binary, started again.

use std::{
    env, io,
    net::TcpListener,
    os::fd::AsFd as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
};
use imagekiln::{Client, webhook::Verifier};
use imagekiln_batch::{Batch, Job, Ledger};

use super::process::Process;
use crate::support::{Fixture, job, open};

const LEDGER: &str = "IMAGEKILN_TEST_LEDGER";
const DIRECTORY: &str = "IMAGEKILN_TEST_DIRECTORY";
const SERVICE: &str = "IMAGEKILN_TEST_SERVICE";
const KEY: &str = "IMAGEKILN_TEST_KEY";
const JOBS: &str = "IMAGEKILN_TEST_JOBS";
const MAX_ACTIVE: &str = "IMAGEKILN_TEST_MAX_ACTIVE";
const CLOCK: &str = "IMAGEKILN_TEST_CLOCK";

/// Short, because the tests wait until it expires. A busy machine must be able to renew it.
const LEASE: Duration = Duration::from_secs(2);

/// Short, because some webhooks never arrive.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of attempts of a worker to connect to a server.
const CONNECTIONS: u32 = 1000;

const SECRET: &str = "a webhook secret of the tests";

/// The tokens of webhooks that never arrive start with this digit: one of 16.
const LOST: char = '0';

/// Whether this process is a child of the test.
pub fn is_child() -> bool {
    env::var_os(LEDGER).is_some()
}

/// The settings with which a worker is started.
pub struct Start {
    /// The path or the URL of the ledger.
    pub ledger: String,
    pub jobs: u64,
    pub max_active: usize,
    /// The seconds by which the wall clock of the process is ahead.
    pub ahead: u64,
}

/// Starts a worker that receives webhooks at the listener.
pub fn start(fixture: &Fixture, listener: &TcpListener, start: &Start) -> Process {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .env(LEDGER, &start.ledger)
        .env(DIRECTORY, fixture.output())
        .env(SERVICE, fixture.simulator.base_url())
        .env(KEY, fixture.simulator.api_key())
        .env(JOBS, start.jobs.to_string())
        .env(MAX_ACTIVE, start.max_active.to_string())
        .env(CLOCK, start.ahead.to_string())
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(listener.try_clone().unwrap())))
        .stdout(Stdio::null());
    Process::start(&mut command)
}

/// The child: runs the batch to its end.
pub fn run_child() {
    let variable = |name: &str| env::var(name).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned().unwrap());
        let ahead = Duration::from_secs(variable(CLOCK).parse().unwrap());
        let client = Client::builder().api_key(variable(KEY)).base_url(variable(SERVICE));
        let client = client.wall_clock(move || now_and(ahead));
        let ledger = connect(&variable(LEDGER)).await;
        let batch = Batch::open(client.webhook_secret(SECRET), ledger).unwrap();
        let url = callback_url(&listener);
        serve(listener, &batch);
        batch
            .jobs(jobs(variable(JOBS).parse().unwrap()))
            .max_active(variable(MAX_ACTIVE).parse().unwrap())
            .lease(LEASE)
            .callback_url(url)
            .callback_patience(PATIENCE)
            .save_to(variable(DIRECTORY))
            .run()
            .await
            .unwrap();
    });
}

#[expect(clippy::disallowed_methods, reason = "this clock is the one that is injected")]
fn now_and(ahead: Duration) -> SystemTime {
    SystemTime::now() + ahead
}

/// Opens the ledger, even while its server restarts: a supervisor would start the process again.
async fn connect(name: &str) -> Ledger {
    if !name.starts_with("postgres://") {
        return open(name).await;
    }
    for _ in 0..CONNECTIONS {
        match Ledger::open(name).await {
            Ok(ledger) => {
                return with_acceptance_log(ledger, env::var(DIRECTORY).unwrap().as_ref()).await;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    panic!("could not connect to the ledger");
}

/// All workers share the directory, as if they ran on one machine.
pub async fn with_acceptance_log(ledger: Ledger, output: &Path) -> Ledger {
    ledger.with_acceptance_log(output.with_file_name("acceptances")).await.unwrap()
}

pub fn jobs(count: u64) -> impl Iterator<Item = Job> {
    (0..count).map(|number| job(&format!("{number}"), &format!("fox {number}")))
}

fn callback_url(listener: &TcpListener) -> String {
    format!("http://{}/hooks", listener.local_addr().unwrap())
}

/// Receives webhooks in the background.
fn serve(listener: TcpListener, batch: &Batch) {
    let verifier = Verifier::hmac_sha256(SECRET).header("x-webhook-signature");
    let receiver = batch.callbacks().router(verifier).layer(from_fn(lose_some));
    let app = Router::new().nest("/hooks", receiver);
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
}

async fn lose_some(request: Request, next: Next) -> Response {
    if is_lost(request.uri().path()) {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    }
}

/// Whether the webhooks to this URL or path are lost.
pub fn is_lost(url: &str) -> bool {
    url.rsplit('/').next().is_some_and(|token| token.starts_with(LOST))
}
