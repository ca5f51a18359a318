//! Redacted copies of the exchanges with the service, for example to compare them with the
//! contract or to attach them to a bug report.
//!
//! [`ClientBuilder::recorder`](crate::ClientBuilder::recorder) sets a function that receives a
//! [`Recording`] of each submission and each poll. Recordings contain no key, prompt or image:
//! every text that is not known to be a name is replaced. The recorded request is built from its
//! fields and not from the sent bytes, so the client need not keep images.
//!
//! ```rust,test_harness
//! use imagekiln::{ClientBuilder, Error, recording::Recording, types::Gen2Pro};
//!
//! fn print(recording: Recording) {
//!     println!("{}", serde_json::to_string(&recording).unwrap());
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let client = ClientBuilder::from_env()?.recorder(print).build()?;
//!     let request = Gen2Pro::new("a red fox in the snow").width(512).height(384);
//!     client.submit(request).await?.wait().await?.save("fox.jpg").await?;
//!     Ok(())
//! }
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/main.in"));
//! ```

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    middleware::Purpose,
    redaction::Redaction,
    response::{Ending, Response},
};
use crate::{
    AspectRatio, FieldKind, FileKind, ImageInput, Request,
    contract::{replaced, shown_url},
    values::{MAX_NAME, file_kind::HEAD},
};

/// A function that receives the recordings of a client.
pub(crate) type Recorder = Arc<dyn Fn(Recording) + Send + Sync>;

/// A submission or a poll with its response, redacted.
///
/// - The API key, webhook secrets, and fields whose names suggest a secret are `[redacted]`.
/// - Text, such as a prompt, is replaced by its length: `[text, 23 characters]`. Values from the
///   lists of the contract, aspect ratios, and the `id`, `status`, `type` and `loc` of responses
///   are kept.
/// - Images are replaced by a description: `[image/png, 12345 bytes]`, `[base64, 600 characters]`
///   or `[image from a file]`. The client does not read a file for a recording.
/// - URLs keep their scheme, host and path: `https://cdn.example.com/fox.png?[redacted]`.
/// - Numbers, Booleans, `null` and the names of fields are kept. Every replacement is a string.
///
/// Task ids are kept. They are in the client's logs, too, and nobody can fetch a picture with an id
/// and without the key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Recording {
    /// The purpose of the exchange: a submission or a poll.
    pub purpose: Purpose,
    /// The name of the operation of the task, such as `gen-2-pro`, if known.
    pub operation: Option<String>,
    /// When the response was recorded, in seconds since the Unix epoch.
    pub recorded_at: u64,
    /// The method of the request.
    pub method: String,
    /// The path of the request, as sent.
    pub path: String,
    /// The status code of the response.
    pub status: u16,
    /// The body of a submission. `None` for a poll.
    pub request: Option<RecordedBody>,
    /// The body of the response.
    pub response: RecordedBody,
}

/// A recorded body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedBody {
    /// A redacted JSON document.
    Json(Value),
    /// The body has no bytes.
    Empty,
    /// The body is not a JSON document.
    NotJson,
    /// The connection broke before the end of the body, or the service stopped sending.
    Incomplete,
    /// The body is larger than 256 KiB, in the redacted form if it is a request.
    TooLarge,
}

impl Recording {
    /// Records a submission, or a poll if there is no `request`. `path` is the path as sent.
    pub(crate) fn new(
        operation: Option<&str>,
        path: &str,
        request: Option<&Request>,
        response: &Response,
        redaction: &Redaction,
        at: SystemTime,
    ) -> Self {
        let purpose = if request.is_some() { Purpose::Submission } else { Purpose::Poll };
        Self {
            purpose,
            operation: operation.map(str::to_owned),
            recorded_at: at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            method: purpose.method().to_owned(),
            path: redaction.redact(path),
            status: response.status.as_u16(),
            request: request.map(|request| of_request(request, redaction)),
            response: of_response(response, redaction),
        }
    }
}

/// The maximum size of a recorded body, in bytes of JSON.
const MOST_RECORDED: usize = 256 * 1024;

/// The members of responses whose text is a name that the service chose.
const NAMES: [&str; 4] = ["id", "status", "type", "loc"];

fn of_request(request: &Request, redaction: &Redaction) -> RecordedBody {
    let replace = |_: &str, kind: Option<&FieldKind>, text: &str| match kind {
        Some(FieldKind::Choice { values }) if values.contains(&text) => text.into(),
        Some(FieldKind::AspectRatio { .. }) if text.parse::<AspectRatio>().is_ok() => text.into(),
        Some(FieldKind::Text | FieldKind::Choice { .. } | FieldKind::AspectRatio { .. }) => {
            length(text)
        }
        _ => url_or_length(text),
    };
    recorded(request.shown(&replace, described).into(), redaction)
}

fn of_response(response: &Response, redaction: &Redaction) -> RecordedBody {
    let body = match &response.ending {
        Ending::Complete => response.body.as_deref().unwrap_or_default(),
        Ending::TooLong => return RecordedBody::TooLarge,
        Ending::Broken(_) | Ending::TimedOut => return RecordedBody::Incomplete,
    };
    if body.is_empty() {
        return RecordedBody::Empty;
    }
    if body.len() > MOST_RECORDED {
        return RecordedBody::TooLarge;
    }
    let Ok(document) = serde_json::from_slice(body) else { return RecordedBody::NotJson };
    let replace = |name: &str, _: Option<&FieldKind>, text: &str| {
        let is_name = NAMES.contains(&name) && text.chars().count() <= MAX_NAME;
        if is_name { text.into() } else { url_or_length(text) }
    };
    recorded(replaced("", None, &document, &replace), redaction)
}

/// Removes the secrets from the document, and returns it unless it is too large.
fn recorded(mut document: Value, redaction: &Redaction) -> RecordedBody {
    redaction.redact_json(&mut document);
    match serde_json::to_vec(&document) {
        Ok(bytes) if bytes.len() <= MOST_RECORDED => RecordedBody::Json(document),
        _ => RecordedBody::TooLarge,
    }
}

fn described(image: &ImageInput) -> Value {
    let text = match image {
        ImageInput::Path(_) => "[image from a file]".to_owned(),
        ImageInput::Base64(text) => format!("[base64, {} characters]", text.len()),
        ImageInput::Url(url) => url.to_string(),
        ImageInput::Bytes(bytes) => {
            let kind = FileKind::of(bytes.get(..HEAD).unwrap_or(bytes));
            let kind = kind.map_or("image", FileKind::media_type);
            format!("[{kind}, {} bytes]", bytes.len())
        }
    };
    text.into()
}

fn url_or_length(text: &str) -> Value {
    shown_url(text).unwrap_or_else(|| length(text))
}

/// Replaces a text by its length, which tests whether it fits the limits of the contract.
fn length(text: &str) -> Value {
    format!("[text, {} characters]", text.chars().count()).into()
}
