//! Fetches the images that a request gives by their URLs, if the settings allow that.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::Bytes,
    http::{Request, StatusCode, header},
};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};
use url::Url;

use crate::{
    config::FetchImages,
    http::outgoing::{Client, broken},
};

/// The time limit for an image, including its redirects, in real time.
const TIMEOUT: Duration = Duration::from_secs(10);

const MAX_REDIRECTS: usize = 3;

/// The images by their URLs. If an image could not be fetched, the value says why.
pub(crate) type Fetched = HashMap<String, Result<Bytes, String>>;

/// Fetches images.
pub(crate) struct Fetcher {
    client: Client,
    /// The maximum total size of the images of a request, in bytes.
    max_bytes: usize,
}

impl Fetcher {
    pub(crate) fn new(fetch: FetchImages, own_ports: Vec<u16>, max_bytes: usize) -> Option<Self> {
        if fetch == FetchImages::Never {
            return None;
        }
        let refusal = "the host is not on this machine, and `fetch_images` is `loopback`";
        let only_loopback = (fetch == FetchImages::Loopback).then_some(refusal);
        Some(Self { client: Client::new(only_loopback, own_ports), max_bytes })
    }

    /// Fetches the images of a request, all at the same time.
    pub(crate) async fn fetch(self: &Arc<Self>, urls: BTreeSet<String>) -> Fetched {
        let budget = Arc::new(Semaphore::new(self.max_bytes.min(Semaphore::MAX_PERMITS)));
        let mut fetches = JoinSet::new();
        for url in urls {
            let (fetcher, budget) = (Arc::clone(self), Arc::clone(&budget));
            fetches.spawn(async move {
                let image = timeout(TIMEOUT, fetcher.get(&url, &budget)).await;
                let late = |_| Err(format!("no response within {} s", TIMEOUT.as_secs()));
                let failed = |problem| format!("the image could not be fetched: {problem}");
                (url, image.unwrap_or_else(late).map_err(failed))
            });
        }
        fetches.join_all().await.into_iter().collect()
    }

    /// Fetches an image. `budget` contains the number of bytes that all images of the request
    /// together may still take.
    async fn get(&self, url: &str, budget: &Semaphore) -> Result<Bytes, String> {
        let unreadable = |_| "could not parse the URL".to_owned();
        let mut url = Url::parse(url).map_err(unreadable)?;
        for _ in 0..=MAX_REDIRECTS {
            let request = Request::get("/").header(header::ACCEPT, "image/*");
            let response = self.client.send(&url, request, Bytes::new()).await?;
            let location = response.head.headers.get(header::LOCATION);
            match (response.head.status, location.and_then(|location| location.to_str().ok())) {
                (StatusCode::OK, _) => return read(response.body, budget).await,
                (status, Some(location)) if status.is_redirection() => {
                    url = url.join(location).map_err(unreadable)?;
                }
                (status, _) => {
                    return Err(format!("the response has the status code {}", status.as_u16()));
                }
            }
        }
        Err(format!("more than {MAX_REDIRECTS} redirects"))
    }
}

async fn read(mut body: Incoming, budget: &Semaphore) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let taken = u32::try_from(data.len()).ok().and_then(|n| budget.try_acquire_many(n).ok());
        let too_large = || "the images of the request are larger than `max_body_bytes`".to_owned();
        taken.ok_or_else(too_large)?.forget();
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.into())
}
