//! Fetches from a delivery URL. Redirects are followed here and not by the HTTP client, because
//! each URL on the way is checked, and goes through a proxy or not by its own host.

use std::error;

use reqwest::{
    Response,
    header::{HeaderMap, LOCATION},
};
use tokio::time::Instant;
use url::Url;

use super::{
    connections::Connection,
    hosts::{DeliveryRules, Refusal},
    middleware::Purpose,
    service::Service,
};
use crate::TaskRef;

const MAX_REDIRECTS: usize = 5;

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum DeliveryFault {
    /// Nothing was sent to the address, and repeating the request would not change that.
    Refused(Refusal),
    TooManyRedirects,
    Silent,
    Http(reqwest::Error),
}

/// The response of the URL at the end of the redirects.
pub(crate) struct Delivery {
    pub(crate) url: Url,
    pub(crate) connection: Connection,
    pub(crate) response: Response,
}

/// Fetches by `until`, following at most five redirects. No request has the key or a `Referer`.
pub(crate) async fn get(
    service: &Service,
    rules: &DeliveryRules,
    task: &TaskRef,
    mut url: Url,
    until: Instant,
) -> Result<Delivery, DeliveryFault> {
    let connections = &service.connections;
    for _ in 0..=MAX_REDIRECTS {
        rules.check(&url).map_err(DeliveryFault::Refused)?;
        let connection =
            if rules.trusts(&url) { connections.to(&url) } else { connections.to_foreign(&url) };
        let mut headers = HeaderMap::new();
        let subject = (task.operation(), Some(task.id()));
        let observation = service.middlewares.begin(Purpose::Download, &url, subject, &mut headers);
        let started = Instant::now();
        let sending = async {
            let response = connection.http.get(url.clone()).headers(headers).send().await;
            observation.finish(&response);
            response
        };
        let watched = connections.watch((&url, &connection), || started, || until, sending);
        let response = watched.await.ok_or(DeliveryFault::Silent)?.map_err(fault_of)?;
        match redirect_target(&url, &response) {
            Some(target) => url = target,
            None => return Ok(Delivery { url, connection, response }),
        }
    }
    Err(DeliveryFault::TooManyRedirects)
}

fn redirect_target(url: &Url, response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = str::from_utf8(response.headers().get(LOCATION)?.as_bytes()).ok()?;
    url.join(location).ok()
}

/// A refusal of the resolver is deep within the HTTP client's error.
fn fault_of(error: reqwest::Error) -> DeliveryFault {
    let mut source = error::Error::source(&error);
    while let Some(cause) = source {
        if let Some(refusal) = cause.downcast_ref::<Refusal>() {
            return DeliveryFault::Refused(refusal.clone());
        }
        source = cause.source();
    }
    DeliveryFault::Http(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{resolver::PublicAddresses, tls::Tls};

    /// `localhost` stands for any name that resolves to an address of this machine; the rules alone
    /// would refuse it.
    #[tokio::test]
    async fn a_refusal_of_the_resolver_is_told_from_a_network_error() {
        let tls = Tls::new(false).unwrap();
        let builder = || tls.configure(reqwest::Client::builder().no_proxy());
        let url = "http://localhost:1/";

        let restricted = builder().dns_resolver(PublicAddresses).build().unwrap();
        let fault = fault_of(restricted.get(url).send().await.unwrap_err());
        assert!(matches!(fault, DeliveryFault::Refused(_)), "{fault:?}");

        let unrestricted = builder().build().unwrap();
        let fault = fault_of(unrestricted.get(url).send().await.unwrap_err());
        assert!(matches!(fault, DeliveryFault::Http(_)), "{fault:?}");
    }
}
