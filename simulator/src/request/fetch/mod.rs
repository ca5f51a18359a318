//! Fetches the images that a request gives by their URLs, if the settings allow it.

mod exchange;
mod target;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::Bytes;
use tokio::{task::JoinSet, time::timeout};
use url::Url;

use self::{exchange::FetchResponse, target::Allowed};
use crate::{config::FetchImages, http::outgoing::Tls};

/// The time limit for an image, with its redirects. Real time.
const TIMEOUT: Duration = Duration::from_secs(10);

const MAX_REDIRECTS: usize = 3;

/// Images by their URLs, or why they could not be fetched.
pub(crate) type Fetched = HashMap<String, Result<Bytes, String>>;

/// Fetches images.
pub(crate) struct Fetcher {
    allowed: Allowed,
    /// The maximum size of all images of a request, in bytes.
    max_bytes: usize,
    tls: Tls,
}

/// How many bytes a request's images may still take.
struct Budget(AtomicUsize);

impl Budget {
    /// Whether this many bytes were left.
    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

impl Fetcher {
    /// `own_ports` are those at which the simulator listens, which are never fetched from.
    pub(crate) fn new(fetch: FetchImages, own_ports: Vec<u16>, max_bytes: usize) -> Option<Self> {
        let any_host = match fetch {
            FetchImages::Never => return None,
            FetchImages::Loopback => false,
            FetchImages::Any => true,
        };
        Some(Self { allowed: Allowed { any_host, own_ports }, max_bytes, tls: Tls::default() })
    }

    /// Fetches all at once.
    pub(crate) async fn fetch(self: &Arc<Self>, urls: BTreeSet<String>) -> Fetched {
        let budget = Arc::new(Budget(AtomicUsize::new(self.max_bytes)));
        let mut fetches = JoinSet::new();
        for url in urls {
            let (fetcher, budget) = (Arc::clone(self), Arc::clone(&budget));
            fetches.spawn(async move {
                let image = match timeout(TIMEOUT, fetcher.get(&url, &budget)).await {
                    Ok(image) => image,
                    Err(_) => Err(format!("no response within {} s", TIMEOUT.as_secs())),
                };
                let failed = |problem| format!("the image could not be fetched: {problem}");
                (url, image.map_err(failed))
            });
        }
        fetches.join_all().await.into_iter().collect()
    }

    async fn get(&self, url: &str, budget: &Budget) -> Result<Bytes, String> {
        let unreadable = |_| "could not parse the URL".to_owned();
        let mut url = Url::parse(url).map_err(unreadable)?;
        for _ in 0..=MAX_REDIRECTS {
            let target = self.allowed.target(&url).await?;
            match exchange::get(&target, &self.tls, budget).await? {
                FetchResponse::Image(bytes) => return Ok(bytes),
                FetchResponse::Redirect(location) => {
                    url = url.join(&location).map_err(unreadable)?
                }
            }
        }
        Err(format!("more than {MAX_REDIRECTS} redirects"))
    }
}
