//! A minimal WebDriver client for chromedriver, with only the commands that the tests use.
//!
//! The existing crates are unsuitable: the one with the protocol types is not permissively
//! licensed, and the others depend on a second HTTP client.

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
    time::Duration,
};

use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, body::Bytes};
use hyper_util::{
    client::legacy::Client, client::legacy::connect::HttpConnector, rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

/// The time limit for chromedriver to listen, and for any command.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The time limit for a script in the page. Shorter than that of the command that runs it.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of attempts to start chromedriver.
const STARTS: usize = 5;

pub(super) struct Driver {
    client: Client<HttpConnector, Full<Bytes>>,
    session: String,
    /// Killed on drop.
    _process: Child,
    /// The browser's profile, deleted on drop.
    _profile: tempfile::TempDir,
}

impl Driver {
    /// Starts chromedriver on a free port, and a browser with it.
    pub(super) async fn start(chromedriver: &str, chromium: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (process, port) = listening(chromedriver, profile.path()).await;
        let client = client();
        let options = json!({
            "binary": chromium,
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--no-proxy-server",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", "--window-size=1280,900",
                format!("--user-data-dir={}", profile.path().display()),
            ],
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "timeouts": { "script": SCRIPT_TIMEOUT.as_millis() as u64 },
        } } });
        let base = format!("http://127.0.0.1:{port}/session");
        let session = command(&client, Method::POST, &base, &wanted).await;
        let id = session["sessionId"].as_str().expect("no session").to_owned();
        Self { client, session: format!("{base}/{id}"), _process: process, _profile: profile }
    }

    /// The same browser in the current runtime, in which its connections begin anew.
    pub(super) fn continued(self) -> Self {
        Self { client: client(), ..self }
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Value {
        command(&self.client, Method::POST, &format!("{}/{path}", self.session), body).await
    }

    /// Ends the browser, which would otherwise outlive chromedriver.
    pub(super) async fn quit(&self) {
        command(&self.client, Method::DELETE, &self.session, &Value::Null).await;
    }
}

fn client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

/// Starts chromedriver. It picks a free IPv6 port and exits if another program uses the same IPv4
/// port. That happens while other tests use ports, so try again.
async fn listening(chromedriver: &str, folder: &Path) -> (Child, u16) {
    for attempt in 0..STARTS {
        let log = folder.join(format!("chromedriver-{attempt}.log"));
        let mut process = Command::new(chromedriver)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(File::create(&log).unwrap())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver did not start");
        let started = Instant::now();
        while process.try_wait().unwrap().is_none() {
            if let Some(port) = port(&fs::read_to_string(&log).unwrap()) {
                return (process, port);
            }
            assert!(started.elapsed() < TIMEOUT, "chromedriver printed no port in time");
            sleep(Duration::from_millis(10)).await;
        }
    }
    panic!("chromedriver exited {STARTS} times before it listened");
}

/// The port in a line of chromedriver's output that has its end.
fn port(output: &str) -> Option<u16> {
    let (_, rest) = output.split_once("started successfully on port ")?;
    rest.split_once(".\n").and_then(|(port, _)| port.parse().ok())
}

async fn command(
    client: &Client<HttpConnector, Full<Bytes>>,
    method: Method,
    url: &str,
    body: &Value,
) -> Value {
    let text = if method == Method::POST { body.to_string() } else { String::new() };
    let request =
        Request::builder().method(method).uri(url).header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(text))).unwrap();
    let exchange = async {
        let response = client.request(request).await.expect("chromedriver did not respond");
        let status = response.status();
        (
            status,
            response
                .into_body()
                .collect()
                .await
                .expect("chromedriver's response is incomplete")
                .to_bytes(),
        )
    };
    let (status, bytes) = tokio::time::timeout(TIMEOUT, exchange)
        .await
        .expect("chromedriver did not respond in time");
    let mut response: Value =
        serde_json::from_slice(&bytes).expect("chromedriver's response is not JSON");
    assert!(status.is_success(), "{url} {body}: {}", response["value"]["message"]);
    response["value"].take()
}
