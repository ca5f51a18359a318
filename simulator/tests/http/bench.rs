//! A running simulator and a client for it.

use std::io::Cursor;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use base64::Engine as _;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use image::{ImageFormat, RgbImage};
use imagekiln_simulator::{Config, Finetune, Organization, Simulator};
use serde_json::Value;

pub struct Bench {
    pub sim: Simulator,
    sender: Sender,
}

/// A client, with connections of its own.
pub struct Sender(Client<HttpConnector, Full<Bytes>>);

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// `(loc, type)` of each violation, the place written with dots.
    pub fn violations(&self) -> Vec<(String, String)> {
        assert_eq!(self.status, 422, "{self:?}");
        let body = self.json();
        let mut found: Vec<_> = body["detail"]
            .as_array()
            .expect("detail is a list")
            .iter()
            .map(|violation| {
                assert!(violation["msg"].as_str().is_some_and(|msg| !msg.is_empty()));
                let loc = violation["loc"].as_array().expect("loc is a list").iter();
                let loc: Vec<_> =
                    loc.map(|step| step.as_str().map_or(step.to_string(), str::to_owned)).collect();
                (loc.join("."), violation["type"].as_str().expect("type is text").to_owned())
            })
            .collect();
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
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let (head, body) = self.0.request(request).await.unwrap().into_parts();
        Answer {
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

    /// A simulator whose one organization has these finetunes.
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
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        self.sender.send(method, url, headers, body).await
    }

    /// A submission with these bytes as its body.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Bytes>) -> Answer {
        let url = format!("{}{path}", self.sim.base_url());
        let headers = [("x-key", self.sim.api_key()), ("content-type", "application/json")];
        self.send(Method::POST, &url, &headers, body).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string()).await
    }

    /// A submission that must be accepted.
    pub async fn submit(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{path} {:.400}: {answer:?}", body.to_string());
        answer.json()
    }

    pub async fn get(&self, url: &str) -> Answer {
        self.send(Method::GET, url, &[("x-key", self.sim.api_key())], "").await
    }

    /// A fetch without the key.
    pub async fn fetch(&self, url: &str) -> Answer {
        self.send(Method::GET, url, &[], "").await
    }

    pub async fn poll(&self, task: &Value) -> Value {
        let answer = self.get(task["polling_url"].as_str().expect("a polling address")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Lets the task become final, and gives its last poll.
    pub async fn finish(&self, task: &Value) -> Value {
        self.sim.clock().advance(Duration::from_secs(1));
        self.poll(task).await
    }

    /// The address of a task's picture, once it is ready.
    pub async fn sample(&self, task: &Value) -> String {
        let poll = self.finish(task).await;
        assert_eq!(poll["status"], "Ready", "{poll}");
        poll["result"]["sample"].as_str().expect("an address").to_owned()
    }

    /// The picture of a submission.
    pub async fn picture(&self, path: &str, body: &Value) -> Bytes {
        let task = self.submit(path, body).await;
        let answer = self.fetch(&self.sample(&task).await).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }
}

/// An image in base64.
pub fn image(format: ImageFormat, width: u32, height: u32) -> String {
    let image =
        RgbImage::from_fn(width, height, |x, y| image::Rgb([(x * 3) as u8, (y * 5) as u8, 90]));
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    base64::engine::general_purpose::STANDARD.encode(bytes.into_inner())
}

pub fn png(width: u32, height: u32) -> String {
    image(ImageFormat::Png, width, height)
}
