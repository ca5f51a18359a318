//! A minimal WebDriver client for chromedriver, with only the commands that the tests use.
//!
//! The existing crates are unsuitable: the one with the protocol types is not permissively
//! licensed, and the others depend on a second HTTP client.

use std::{process::Stdio, time::Duration};

use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, body::Bytes};
use hyper_util::{
    client::legacy::Client, client::legacy::connect::HttpConnector, rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
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
        let (process, port) = listening(chromedriver).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        let profile = tempfile::tempdir().unwrap();
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

    pub(super) async fn post(&self, path: &str, body: &Value) -> Value {
        command(&self.client, Method::POST, &format!("{}/{path}", self.session), body).await
    }

    /// Ends the browser, which would otherwise outlive chromedriver.
    pub(super) async fn quit(&self) {
        command(&self.client, Method::DELETE, &self.session, &Value::Null).await;
    }
}

/// Starts chromedriver. It picks a free IPv6 port and exits if another program uses the same IPv4
/// port. That happens while other tests use ports, so try again.
async fn listening(chromedriver: &str) -> (Child, u16) {
    for _ in 0..STARTS {
        let mut process = Command::new(chromedriver)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver did not start");
        let output = process.stdout.take().expect("chromedriver's output is not a pipe");
        let port = tokio::time::timeout(TIMEOUT, port(output)).await;
        if let Some(port) = port.expect("chromedriver printed no port in time") {
            return (process, port);
        }
    }
    panic!("chromedriver exited {STARTS} times before it listened");
}

/// The port that chromedriver prints, or `None` if it exited.
async fn port(output: tokio::process::ChildStdout) -> Option<u16> {
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await.expect("could not read chromedriver's output") {
        let port = line.split_once("started successfully on port ").map(|(_, port)| port);
        if let Some(port) = port.and_then(|port| port.trim_end_matches('.').parse().ok()) {
            // Discard the rest of the output, so that chromedriver does not block on a full pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Some(port);
        }
    }
    None
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
