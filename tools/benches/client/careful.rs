//! reqwest with the checks of a careful program. It checks the host that receives the key, the
//! silence of the service, and the size of the response. The response may not repeat a secret, and
//! none of its fields may be lost.

use std::time::Duration;

use reqwest::Client;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::timeout;
use url::Url;

use super::poll::{DEADLINE, KEY};

/// How long the service may send nothing.
const SILENCE: Duration = Duration::from_secs(20);

const LARGEST_RESPONSE: usize = 4 * 1024 * 1024;

/// The response to a poll, as the contract defines it, and what the contract does not define.
#[derive(Deserialize)]
pub struct Polled {
    pub id: Option<String>,
    pub status: String,
    pub result: Option<Value>,
    #[serde(flatten)]
    pub unlisted: Map<String, Value>,
}

pub async fn poll(http: &Client, service: &Url, polling_url: &str) -> Polled {
    let url = Url::parse(polling_url).unwrap();
    assert_eq!(url.origin(), service.origin(), "another host must not receive the key");
    let query = url.query().unwrap_or_default().to_owned();
    let request = http.get(url).header("x-key", KEY).timeout(DEADLINE);
    let response = timeout(SILENCE, request.send()).await.unwrap().unwrap();
    let mut response = response.error_for_status().unwrap();
    let mut body = Vec::new();
    while let Some(chunk) = timeout(SILENCE, response.chunk()).await.unwrap().unwrap() {
        body.extend_from_slice(&chunk);
        assert!(body.len() <= LARGEST_RESPONSE);
    }
    let document: Value = serde_json::from_slice(&body).unwrap();
    assert!(!repeats(&document, &[KEY, &query]));
    serde_json::from_value(document).unwrap()
}

/// Whether a name or a text in `value` contains one of the secrets.
fn repeats(value: &Value, secrets: &[&str]) -> bool {
    let is_in = |text: &str| secrets.iter().any(|secret| text.contains(secret));
    match value {
        Value::String(text) => is_in(text),
        Value::Array(values) => values.iter().any(|value| repeats(value, secrets)),
        Value::Object(members) => {
            members.iter().any(|(name, value)| is_in(name) || repeats(value, secrets))
        }
        _ => false,
    }
}
