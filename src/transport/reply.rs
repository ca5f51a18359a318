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
use crate::{Location, Violation, values::REDACTED};

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
    /// Calls `moved` for every chunk that comes.
    pub(crate) async fn read(response: Response, moved: impl Fn()) -> Result<Self, Unread> {
        let (status, headers) = (response.status(), response.headers().clone());
        Self::collect(response.bytes_stream(), status, headers, moved).await
    }

    pub(crate) async fn collect(
        stream: impl Stream<Item = reqwest::Result<Bytes>>,
        status: StatusCode,
        headers: HeaderMap,
        moved: impl Fn(),
    ) -> Result<Self, Unread> {
        let mut stream = std::pin::pin!(stream);
        let mut body = Vec::new();
        while let Some(chunk) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            moved();
            match chunk {
                Ok(chunk) if body.len() + chunk.len() <= MAX_REPLY => body.extend_from_slice(&chunk),
                // The status of a failure says what it is, also where its text does not come to its end.
                _ if !status.is_success() => break,
                Ok(_) => return Err(Unread::TooLong),
                Err(error) => return Err(Unread::Broken(error)),
            }
        }
        Ok(Self { status, headers, body })
    }

    pub(crate) fn json<T: for<'de> Deserialize<'de>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    pub(crate) fn request_id(&self, secrets: &[&str]) -> Option<String> {
        ["x-request-id", "request-id"]
            .iter()
            .find_map(|name| self.headers.get(*name)?.to_str().ok().map(|id| cleaned(id, secrets)))
    }

    pub(crate) fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        retry::retry_after(&self.headers, now)
    }

    /// What a failure says: the violations of a 422, or a message. `secrets` never come out of it, whatever the service
    /// echoes. HTML says nothing to a person at a terminal, so it is not passed on.
    pub(crate) fn complaint(&self, secrets: &[&str]) -> Complaint {
        let clean = |text: &str| cleaned(text, secrets);
        let Ok(body) = self.json::<Value>() else { return Complaint::default() };
        let detail = body.get("detail").unwrap_or(&body);
        match detail {
            Value::Array(list) => {
                let violations: Vec<Violation> = list
                    .iter()
                    .filter_map(|entry| Violation::deserialize(entry).ok())
                    .map(|violation| Violation {
                        loc: violation.loc.into_iter().map(|step| clean_step(step, secrets)).collect(),
                        msg: clean(&violation.msg),
                        kind: clean(&violation.kind),
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

fn clean_step(step: Location, secrets: &[&str]) -> Location {
    match step {
        Location::Name(name) => Location::Name(cleaned(&name, secrets)),
        index @ Location::Index(_) => index,
    }
}

fn cleaned(text: &str, secrets: &[&str]) -> String {
    let without = secrets
        .iter()
        .filter(|secret| !secret.is_empty())
        .fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED));
    shortened(&without)
}

fn shortened(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
