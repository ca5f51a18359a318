//! The door of the fuzz targets: readers of what strangers send, without the network.
//!
//! Not part of the interface. Programs can't rely on anything here.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
    vec,
};

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body as _;
use reqwest::{StatusCode, header::HeaderMap};
use tokio::time::Instant;
use url::Url;

use crate::{
    Address, Client, Error, FileKind, Request, SubmissionResponse, TaskRef, Update, picture, retry,
    task,
    transport::{
        body::{BodyPlan, Progress},
        hosts::{DeliveryRules, KeyOrigins},
        response::{ReadLimits, Response},
    },
    values::{base64_text, whole},
};

pub use crate::journal::fuzzing::{ReadLog, read as read_log};
pub use crate::values::whole::Extent;

const LIMIT: Duration = Duration::from_secs(60);

/// A response as it arrives.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The chunks of the body.
    pub chunks: Vec<Bytes>,
}

/// The chunks of a body, which are all there.
struct Chunks(vec::IntoIter<Bytes>);

impl Stream for Chunks {
    type Item = reqwest::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

impl Reply {
    async fn read(self) -> Response {
        let limits = ReadLimits { silence: LIMIT, until: Instant::now() + LIMIT };
        Response::read(self.status, self.headers, Chunks(self.chunks.into_iter()), limits).await
    }
}

/// Reads the response to a poll of `task`.
pub async fn poll(client: &Client, task: &TaskRef, reply: Reply) -> Result<Update, Error> {
    task::fuzzing::poll(client.shared(), task, reply.read().await)
}

/// Reads the response to a submission. `None` is an accepted submission without a task.
pub async fn submission(
    client: &Client,
    request: &Request,
    reply: Reply,
) -> Result<Option<(TaskRef, Option<SubmissionResponse>)>, Error> {
    task::fuzzing::submission(client.shared(), request, &reply.read().await)
}

/// Downloads a picture. Returns its format and its bytes.
pub async fn download(
    client: &Client,
    task: &TaskRef,
    address: Address,
    reply: Reply,
) -> Result<(FileKind, Vec<u8>), Error> {
    let Reply { status, headers, chunks } = reply;
    let mut response = hyper::Response::new(reqwest::Body::from(chunks.concat()));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    picture::fuzzing::download(Arc::clone(client.shared()) as _, task, address, response.into())
        .await
}

/// The name of the file of a task's picture, without an extension.
pub fn file_stem(task: &TaskRef) -> String {
    picture::fuzzing::file_stem(task)
}

/// The delay that a response asks for.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    retry::retry_after(headers, now)
}

/// Whether a client of `base` fetches a picture from `url`, and why not.
pub fn may_deliver(base: &Url, url: &Url) -> Result<(), String> {
    let rules = DeliveryRules::new(std::slice::from_ref(base), Vec::new());
    rules.check(url).map_err(|refusal| refusal.to_string())
}

/// Whether a client of `base` sends its key to `url`.
pub fn may_receive_key(base: &Url, url: &Url) -> bool {
    KeyOrigins::new(vec![base.clone()], Vec::new(), false).may_receive_key(url)
}

/// How much of a picture has arrived, and its format.
pub fn extent(chunks: &[&[u8]]) -> (Extent, Option<FileKind>) {
    let mut checker = whole::Checker::default();
    chunks.iter().for_each(|chunk| checker.feed(chunk));
    (checker.extent(), checker.kind())
}

/// Whether a text is base64, with or without the beginning of a `data:` URL.
pub fn is_base64(text: &[u8]) -> bool {
    base64_text::is_base64(text)
}

/// The first `length` bytes of base64, or slightly fewer.
pub fn base64_head(text: &[u8], length: usize) -> Option<Vec<u8>> {
    base64_text::decode_head(text, length)
}

/// The body of a submission.
pub async fn body(request: &Request) -> io::Result<Vec<u8>> {
    let plan = Arc::new(BodyPlan::new(request)?);
    let mut body = plan.body(&Progress::start(), None);
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(io::Error::other)?;
        bytes.extend(frame.into_data().unwrap_or_default());
    }
    Ok(bytes)
}
