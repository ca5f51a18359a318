//! Sends the GET of a poll or of a download, and fetches a delivery URL. This module follows
//! redirects itself instead of leaving them to the HTTP client, because it must check the URL of
//! every redirect, and because the host of each URL decides whether a proxy is used.

use reqwest::{Method, Request, Response, header::LOCATION};
use tokio::time::Instant;
use url::Url;

use super::{
    connections::Connection,
    hosts::{DeliveryRules, UrlRefusal},
    middleware::{Exchange, Purpose},
    service::Service,
};
use crate::{TaskRef, retry::status::causes};

const MAX_REDIRECTS: u32 = 5;

/// Why a download received no response.
#[derive(Debug)]
pub(crate) enum DownloadError {
    /// The URL, or the addresses of its host, are not allowed. Nothing was sent to this URL, and
    /// repeating the request would not help.
    Refused(UrlRefusal),
    TooManyRedirects,
    Silent,
    Http(reqwest::Error),
}

/// The response after all redirects, with its URL and its connection.
pub(crate) struct Fetched {
    pub(crate) url: Url,
    pub(crate) connection: Connection,
    pub(crate) response: Response,
}

/// Sends a GET about a task, and returns when the headers of the response have arrived. Returns
/// `None` if they have not arrived at `until`.
pub(crate) async fn get(
    service: &Service,
    purpose: Purpose,
    task: &TaskRef,
    (url, connection): (&Url, &Connection),
    resends: u32,
    until: Instant,
) -> Option<reqwest::Result<Response>> {
    let mut request = Request::new(Method::GET, url.clone());
    let exchange = Exchange {
        purpose,
        url: &url.clone().into(),
        operation: task.operation(),
        task_id: Some(task.id()),
    };
    let observation = service.begin(exchange, url, resends, request.headers_mut());
    let started = Instant::now();
    let sending = observation.send(connection.http.execute(request));
    service.connections.watch(connection, || started, || until, sending).await
}

/// Returns the target of a redirect.
pub(crate) fn redirect_target(url: &Url, response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = str::from_utf8(response.headers().get(LOCATION)?.as_bytes()).ok()?;
    url.join(location).ok()
}

/// Fetches a delivery URL and follows at most five redirects. Returns when the headers of the last
/// response have arrived, or fails at `until`. No request contains the key or a `Referer` header.
/// `attempts` is the number of failed attempts before this one.
pub(crate) async fn fetch(
    service: &Service,
    rules: &DeliveryRules,
    task: &TaskRef,
    mut url: Url,
    attempts: u32,
    until: Instant,
) -> Result<Fetched, DownloadError> {
    for redirects in 0..=MAX_REDIRECTS {
        rules.check(&url).map_err(DownloadError::Refused)?;
        let connection = service.connections.to(&url, rules.trusts(&url));
        let at = (&url, &connection);
        let sent = get(service, Purpose::Download, task, at, attempts + redirects, until).await;
        let response = sent.ok_or(DownloadError::Silent)?.map_err(error_of)?;
        match redirect_target(&url, &response) {
            Some(target) => url = target,
            None => return Ok(Fetched { url, connection, response }),
        }
    }
    Err(DownloadError::TooManyRedirects)
}

/// Converts an error of the HTTP client. If the resolver refused the addresses of the host, the
/// refusal is nested in this error.
fn error_of(error: reqwest::Error) -> DownloadError {
    let refusal = causes(&error).find_map(|cause| cause.downcast_ref::<UrlRefusal>()).cloned();
    refusal.map_or(DownloadError::Http(error), DownloadError::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::connections::{PublicAddresses, tls_backend};

    /// `localhost` represents any name that resolves to a local address. The rules would already
    /// refuse it, so this test calls the client directly.
    #[tokio::test]
    async fn a_refusal_by_the_resolver_is_not_a_network_error() {
        let tls = tls_backend(false).unwrap();
        let builder = || tls(reqwest::Client::builder().no_proxy());
        let url = "http://localhost:1/";

        let restricted = builder().dns_resolver(PublicAddresses).build().unwrap();
        let error = error_of(restricted.get(url).send().await.unwrap_err());
        assert!(matches!(error, DownloadError::Refused(_)), "{error:?}");

        let unrestricted = builder().build().unwrap();
        let error = error_of(unrestricted.get(url).send().await.unwrap_err());
        assert!(matches!(error, DownloadError::Http(_)), "{error:?}");
    }
}
