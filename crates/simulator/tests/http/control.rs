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

use axum::http::Method;
use serde_json::Value;

use super::bench::{Bench, Response};

impl Bench {
    /// Sends a request to the control interface, as a program does.
    pub async fn control(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        self.control_as("", method, path, body).await
    }

    /// Sends a request as a user.
    async fn control_as(
        &self,
        user: &str,
        method: Method,
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

    /// Gets a resource.
    pub async fn show(&self, path: &str) -> Value {
        let response = self.control(Method::GET, path, None).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.json()
    }

    /// Makes a change as the operator, which must succeed.
    pub async fn change(&self, method: Method, path: &str, body: Value) -> Value {
        let response = self.control(method, path, Some(body)).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.json()
    }
}
