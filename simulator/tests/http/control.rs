//! The control interface: who reaches it, and what it shows and changes.

mod accounts;
mod faults;
mod guard;
mod tasks;
mod webhooks;

use axum::http::Method;
use serde_json::Value;

use super::bench::{Answer, Bench};

impl Bench {
    /// A request to the control interface, as a program sends it.
    async fn control(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.control_as("", method, path, body).await
    }

    /// The same, acting as a user.
    async fn control_as(
        &self,
        user: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let url = format!("{}{path}", self.sim.control_url());
        let mut headers = vec![("content-type", "application/json")];
        if !user.is_empty() {
            headers.push(("x-acting-user", user));
        }
        self.send(method, &url, &headers, body.map(|body| body.to_string()).unwrap_or_default())
            .await
    }

    /// What a resource shows.
    async fn show(&self, path: &str) -> Value {
        let answer = self.control(Method::GET, path, None).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// A change by the operator, which must be made.
    async fn change(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.control(method, path, Some(body)).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }
}
