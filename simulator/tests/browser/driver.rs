//! WebDriver: the few commands of the protocol that the tests use, spoken to chromedriver.
//!
//! The crates that do this need more than they give here: the one for its own protocol types is not
//! permissively licensed, the others bring a second HTTP client.

use std::process::Stdio;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Until then chromedriver has said where it listens, and any command is answered.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often chromedriver is started until it listens.
const STARTS: usize = 5;

pub struct Driver {
    client: Client<HttpConnector, Full<Bytes>>,
    session: String,
    /// Killed when dropped.
    _process: Child,
    /// The browser's own files, removed when dropped.
    _profile: tempfile::TempDir,
}

impl Driver {
    /// Starts chromedriver on a free port, and in it a browser.
    pub async fn start(chromedriver: &str, chromium: &str) -> Self {
        let (process, port) = listening(chromedriver).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        let profile = tempfile::tempdir().unwrap();
        let options = json!({
            "binary": chromium,
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", "--window-size=1280,900",
                format!("--user-data-dir={}", profile.path().display()),
            ],
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "timeouts": { "script": 20_000 },
        } } });
        let base = format!("http://127.0.0.1:{port}/session");
        let session = command(&client, Method::POST, &base, &wanted).await;
        let id = session["sessionId"].as_str().expect("a session").to_owned();
        Self { client, session: format!("{base}/{id}"), _process: process, _profile: profile }
    }

    pub async fn post(&self, path: &str, body: &Value) -> Value {
        command(&self.client, Method::POST, &format!("{}/{path}", self.session), body).await
    }

    /// Ends the browser. Without it, the browser would outlive chromedriver.
    pub async fn quit(&self) {
        command(&self.client, Method::DELETE, &self.session, &Value::Null).await;
    }
}

/// Starts chromedriver. It takes a free port of IPv6 and exits if another program has that port of
/// IPv4, which happens while other tests take ports; so it is started again.
async fn listening(chromedriver: &str) -> (Child, u16) {
    for _ in 0..STARTS {
        let mut process = Command::new(chromedriver)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver starts");
        let output = process.stdout.take().expect("chromedriver's output is a pipe");
        let port = tokio::time::timeout(PATIENCE, port(output)).await;
        if let Some(port) = port.expect("chromedriver tells its port, or ends") {
            return (process, port);
        }
    }
    panic!("chromedriver ended {STARTS} times before it listened");
}

/// The port that chromedriver took, from its first lines; none if it ended.
async fn port(output: tokio::process::ChildStdout) -> Option<u16> {
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await.expect("chromedriver's output can be read") {
        let told = line.split_once("started successfully on port ").map(|(_, port)| port);
        if let Some(port) = told.and_then(|port| port.trim_end_matches('.').parse().ok()) {
            // The rest is read and thrown away, so that chromedriver does not stop at a full pipe.
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
        let response = client.request(request).await.expect("chromedriver answers");
        let status = response.status();
        (
            status,
            response
                .into_body()
                .collect()
                .await
                .expect("chromedriver's answer is whole")
                .to_bytes(),
        )
    };
    let (status, bytes) =
        tokio::time::timeout(PATIENCE, exchange).await.expect("chromedriver answers in time");
    let mut answer: Value = serde_json::from_slice(&bytes).expect("chromedriver answers in JSON");
    assert!(status.is_success(), "{url} {body}: {}", answer["value"]["message"]);
    answer["value"].take()
}
