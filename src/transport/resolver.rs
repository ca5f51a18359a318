//! Resolves host names to public addresses only. Resolution happens at connection time, so this
//! also refuses a name whose address changes after the URL was checked.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::hosts::{UrlRefusal, reason_not_public};

/// For hosts that only the service named. The HTTP client does not call it for IP addresses in
/// URLs.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublicAddresses;

impl Resolve for PublicAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is a placeholder; the HTTP client replaces it with that of the URL.
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Addrs = Box::new(public_of(name.as_str(), found)?.into_iter());
            Ok(public)
        })
    }
}

fn public_of(name: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, UrlRefusal> {
    let reason = found.first().and_then(|address| reason_not_public(address.ip()));
    let is_public = |address: &SocketAddr| reason_not_public(address.ip()).is_none();
    let public: Vec<SocketAddr> = found.into_iter().filter(is_public).collect();
    match reason {
        Some(reason) if public.is_empty() => {
            Err(UrlRefusal::of_host(format!("{name} resolves to {reason}")))
        }
        _ => Ok(public),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn addresses_that_are_not_public_are_dropped() {
        let found = addresses(&["10.0.0.7", "8.8.8.8", "fd00::1", "2606:4700::1111"]);
        assert_eq!(public_of("cdn.test", found), Ok(addresses(&["8.8.8.8", "2606:4700::1111"])));
    }

    #[test]
    fn a_name_without_a_public_address_is_refused() {
        let refusal = public_of("cdn.test", addresses(&["10.0.0.7", "127.0.0.1"])).unwrap_err();
        assert_eq!(refusal.to_string(), "cdn.test resolves to a private address");
        assert_eq!(public_of("cdn.test", Vec::new()), Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_name_of_a_local_address_is_refused() {
        let outcome = PublicAddresses.resolve("localhost".parse().unwrap()).await;
        let error = outcome.err().expect("only loopback addresses");
        assert!(error.downcast_ref::<UrlRefusal>().is_some(), "{error}");
    }
}
