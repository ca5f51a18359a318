//! A running simulator and a client for it.

use std::time::Duration;

use axum::{
    body::Bytes,
    http::{HeaderMap, Request, StatusCode},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper_util::{
    client::legacy::Client, client::legacy::connect::HttpConnector, rt::TokioExecutor,
};
use image::{DynamicImage, ImageFormat};
use serde_json::{Value, json};

use imagekiln_simulator::{Config, Finetune, Organization, Simulator, TaskView};
use imagekiln_testbed::picture;

pub struct Bench {
    pub sim: Simulator,
    sender: Sender,
}

/// A client with its own connections.
pub struct Sender(Client<HttpConnector, Full<Bytes>>);

#[derive(Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Response {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The location and the type of each violation, such as `body.width missing`.
    pub fn violations(&self) -> Vec<String> {
        assert_eq!(self.status, 422, "{self:?}");
        let body = self.json();
        let violations = body["detail"].as_array().expect("detail is not a list").iter();
        let found = violations.map(|violation| {
            assert!(violation["msg"].as_str().is_some_and(|msg| !msg.is_empty()));
            let loc = violation["loc"].as_array().expect("loc is not a list").iter();
            let loc: Vec<_> =
                loc.map(|step| step.as_str().map_or(step.to_string(), str::to_owned)).collect();
            let kind = violation["type"].as_str().expect("type is not a string");
            format!("{} {kind}", loc.join("."))
        });
        let mut found: Vec<_> = found.collect();
        found.sort();
        found
    }
}

impl Sender {
    pub fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let (head, body) = self.0.request(request).await.unwrap().into_parts();
        Response {
            status: head.status,
            headers: head.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }
}

impl Bench {
    pub async fn new() -> Self {
        Self::with(Config::default()).await
    }

    /// A simulator whose only organization has these finetunes.
    pub async fn with_finetunes(names: &[&str]) -> Self {
        let finetunes =
            names.iter().map(|name| Finetune { name: (*name).to_owned(), shared: false }).collect();
        let organization = Organization { finetunes, ..Organization::new("Default") };
        Self::with(Config { organizations: vec![organization], ..Config::default() }).await
    }

    pub async fn with(config: Config) -> Self {
        Self { sim: Simulator::start(config).await.unwrap(), sender: Sender::new() }
    }

    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response {
        self.sender.send(method, url, headers, body).await
    }

    /// Submits these bytes as the body.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Bytes>) -> Response {
        self.post_at(self.sim.base_url(), path, body).await
    }

    pub async fn post_at(&self, base: &str, path: &str, body: impl Into<Bytes>) -> Response {
        let url = format!("{base}{path}");
        let headers = [("x-key", self.sim.api_key()), ("content-type", "application/json")];
        self.send("POST", &url, &headers, body).await
    }

    /// Submits with another key.
    pub async fn post_as(&self, key: &str, path: &str, body: &Value) -> Response {
        let url = format!("{}{path}", self.sim.base_url());
        let headers = [("x-key", key), ("content-type", "application/json")];
        self.send("POST", &url, &headers, body.to_string()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.post_bytes(path, body.to_string()).await
    }

    /// Submits a request that must be accepted.
    pub async fn submit(&self, path: &str, body: &Value) -> Value {
        let response = self.post(path, body).await;
        assert_eq!(response.status, 200, "{path} {:.400}: {response:?}", body.to_string());
        response.json()
    }

    /// Asserts that a request to an operation has these violations, separated by commas.
    pub async fn assert_violations(&self, operation: &str, body: &Value, expected: &str) {
        let response = self.post(&format!("/v1/{operation}"), body).await;
        let found = response.violations().join(", ");
        assert_eq!(found, expected, "{operation} {:.200}: {response:?}", body.to_string());
    }

    pub async fn get(&self, url: &str) -> Response {
        self.send("GET", url, &[("x-key", self.sim.api_key())], "").await
    }

    /// Gets a URL with the key, and requests a fault.
    pub async fn get_faulty(&self, url: &str, fault: &str) -> Response {
        let headers = [("x-key", self.sim.api_key()), ("x-simulator-fault", fault)];
        self.send("GET", url, &headers, "").await
    }

    /// Fetches a URL without the key.
    pub async fn fetch(&self, url: &str) -> Response {
        self.send("GET", url, &[], "").await
    }

    pub async fn poll(&self, task: &Value) -> Value {
        let response = self.get(task["polling_url"].as_str().expect("no polling URL")).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json()
    }

    /// What the simulator knows of an accepted task.
    pub fn view(&self, task: &Value) -> TaskView {
        self.sim.task(task["id"].as_str().expect("no id")).expect("no such task")
    }

    /// Advances the clock until the task has ended, and returns its last poll.
    pub async fn finish(&self, task: &Value) -> Value {
        self.sim.clock().advance(Duration::from_secs(1));
        self.poll(task).await
    }

    /// The delivery URL of a task, once it is ready.
    pub async fn sample(&self, task: &Value) -> String {
        let poll = self.finish(task).await;
        assert_eq!(poll["status"], "Ready", "{poll}");
        poll["result"]["sample"].as_str().expect("no delivery URL").to_owned()
    }

    /// Submits a request and fetches its picture.
    pub async fn picture(&self, path: &str, body: &Value) -> Bytes {
        let task = self.submit(path, body).await;
        let response = self.fetch(&self.sample(&task).await).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.body
    }
}

/// A client of HTTP/2, to which the server sends at most `window` bytes of a response before the
/// client reads them.
pub fn http2(window: u32) -> Client<HttpConnector, Empty<Bytes>> {
    let mut client = Client::builder(TokioExecutor::new());
    client.http2_only(true).http2_initial_stream_window_size(window).build_http()
}

/// A request for a small picture.
pub fn small(prompt: &str) -> Value {
    json!({ "prompt": prompt, "width": 64, "height": 64 })
}

/// The png of a picture in base64.
pub fn base64(picture: impl Into<DynamicImage>) -> String {
    STANDARD.encode(picture::encoded(picture, ImageFormat::Png))
}

/// A png of this size in base64.
pub fn png(width: u32, height: u32) -> String {
    base64(picture::gradient(width, height))
}
