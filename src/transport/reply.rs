//! Reading answers: whole, within bounds, and without trusting what they say.

use std::{
    future::poll_fn,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_core::Stream;
use reqwest::{Response, StatusCode, header::HeaderMap};
use serde::Deserialize;
use serde_json::Value;

use super::retry;
use crate::{Violation, values::REDACTED};

/// An answer is a few hundred bytes; one of this size is none of ours.
const MAX_REPLY: usize = 4 * 1024 * 1024;

/// What of a message by the service is passed on.
const MAX_MESSAGE: usize = 300;

/// An answer, read to its end.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Why an answer could not be read to its end.
#[derive(Debug)]
pub(crate) enum Unread {
    Broken(reqwest::Error),
    TooLong,
}

impl Reply {
    pub(crate) async fn read(response: Response) -> Result<Self, Unread> {
        let (status, headers) = (response.status(), response.headers().clone());
        Self::collect(response.bytes_stream(), status, headers).await
    }

    pub(crate) async fn collect(
        stream: impl Stream<Item = reqwest::Result<Bytes>>,
        status: StatusCode,
        headers: HeaderMap,
    ) -> Result<Self, Unread> {
        let mut stream = std::pin::pin!(stream);
        let mut body = Vec::new();
        while let Some(chunk) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            body.extend_from_slice(&chunk.map_err(Unread::Broken)?);
            if body.len() > MAX_REPLY {
                return Err(Unread::TooLong);
            }
        }
        Ok(Self { status, headers, body })
    }

    pub(crate) fn json<T: for<'de> Deserialize<'de>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    pub(crate) fn request_id(&self) -> Option<String> {
        ["x-request-id", "request-id"]
            .iter()
            .find_map(|name| self.headers.get(*name)?.to_str().ok().map(|id| shortened(id)))
    }

    pub(crate) fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        retry::retry_after(&self.headers, now)
    }

    /// What a failure says: the violations of a 422, or a message. `secrets` never come out of it, whatever the service
    /// echoes. HTML says nothing to a person at a terminal, so it is not passed on.
    pub(crate) fn complaint(&self, secrets: &[&str]) -> Complaint {
        let clean = |text: &str| {
            let text = secrets
                .iter()
                .filter(|secret| !secret.is_empty())
                .fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED));
            shortened(&text)
        };
        let Ok(body) = self.json::<Value>() else { return Complaint::default() };
        let detail = body.get("detail").unwrap_or(&body);
        match detail {
            Value::Array(list) => {
                let violations: Vec<Violation> = list
                    .iter()
                    .filter_map(|entry| Violation::deserialize(entry).ok())
                    .map(|violation| Violation {
                        msg: clean(&violation.msg),
                        kind: clean(&violation.kind),
                        ..violation
                    })
                    .collect();
                let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                let message = (!texts.is_empty()).then(|| clean(&texts.join("; ")));
                Complaint { message, violations }
            }
            Value::String(text) => Complaint { message: Some(clean(text)), violations: Vec::new() },
            other => {
                let named = ["message", "error", "msg"].iter().find_map(|name| other.get(name)?.as_str());
                Complaint { message: named.map(clean), violations: Vec::new() }
            }
        }
    }
}

/// What a failure says about itself.
#[derive(Debug, Default)]
pub(crate) struct Complaint {
    pub(crate) message: Option<String>,
    pub(crate) violations: Vec<Violation>,
}

fn shortened(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
