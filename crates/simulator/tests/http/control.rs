//! The control interface: access, views and changes.

mod accounts;
mod audit;
mod faults;
mod guard;
mod lateness;
mod metrics;
mod task_details;
mod tasks;
mod token;
mod usage;
mod webhooks;

use axum::{body::Bytes, http::Request};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::Value;

use super::bench::{Bench, Response};

impl Bench {
    /// Sends a request to the control interface, as a program does.
    pub async fn control(&self, method: &str, path: &str, body: Option<Value>) -> Response {
        self.control_as("", method, path, body).await
    }

    /// Sends a request as a user.
    async fn control_as(
        &self,
        user: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Response {
        let url = format!("{}{path}", self.sim.control_url());
        let mut headers = vec![("content-type", "application/json")];
        if !user.is_empty() {
            headers.push(("x-acting-user", user));
        }
        self.send(method, &url, &headers, body.map(|body| body.to_string()).unwrap_or_default())
            .await
    }

    /// Sends a request for a resource with these headers.
    async fn visit(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.send("GET", &format!("{}{path}", self.sim.control_url()), headers, "").await
    }

    /// Gets a resource.
    pub async fn show(&self, path: &str) -> Value {
        let response = self.control("GET", path, None).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.json()
    }

    /// Subscribes to the events of the page.
    pub async fn events(&self) -> Events {
        let request = Request::get(format!("{}/api/events", self.sim.control_url()));
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let client = Client::builder(TokioExecutor::new()).build_http();
        let response = client.request(request).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events(response.into_body())
    }

    /// Makes a change as the operator, which must succeed.
    pub async fn change(&self, method: &str, path: &str, body: Value) -> Value {
        let response = self.control(method, path, Some(body)).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.json()
    }
}

/// The events of the page.
pub struct Events(Incoming);

impl Events {
    /// The next event, whenever it arrives.
    pub async fn next(&mut self) -> String {
        let frame = self.0.frame().await.expect("the stream ended").unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    }
}
