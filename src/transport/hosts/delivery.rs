//! Decides where pictures may be downloaded from. `docs/key-hosts.md` explains the rule.

use std::{error, fmt};

use url::Url;

use super::{AllowedHost, Host, reason_not_public};
use crate::{Error, ErrorKind};

/// Checks every URL of a delivery: the delivery URL and the target of each redirect.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRules {
    /// The hosts of the base URLs. They may deliver from any port.
    bases: Vec<Host>,
    allowed: Vec<AllowedHost>,
    /// Whether a base URL uses http. In that case, public hosts may also deliver over http.
    http: bool,
}

impl DeliveryRules {
    pub(crate) fn new(bases: &[Url], allowed: Vec<AllowedHost>) -> Self {
        Self {
            bases: bases.iter().filter_map(Host::of).collect(),
            allowed,
            http: bases.iter().any(|base| base.scheme() == "http"),
        }
    }

    /// Checks whether the client may fetch the URL. This does not resolve host names. If the host
    /// name is not [trusted](Self::trusts), the resolver of the HTTP client refuses addresses that
    /// are not public when it connects.
    pub(crate) fn check(&self, url: &Url) -> Result<(), UrlRefusal> {
        let scheme = url.scheme();
        if !matches!(scheme, "http" | "https") {
            return Err(UrlRefusal::of_url(format!("the URL scheme is `{scheme}`, not https")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefusal::of_url("the URL has a user name or a password"));
        }
        if self.trusts(url) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        if scheme == "http" && !self.http {
            let reason = format!("{host} uses http, but the base URL uses https");
            return Err(UrlRefusal::of_host(reason));
        }
        let reason = match Host::of(url) {
            Some(Host::Loopback) => Some("a loopback address"),
            Some(Host::Address(address)) => reason_not_public(address),
            Some(Host::Name(_)) => None,
            None => Some("not a host"),
        };
        reason.map_or(Ok(()), |reason| Err(UrlRefusal::of_host(format!("{host} is {reason}"))))
    }

    /// Whether the settings name the host, as a base URL or as an allowed host.
    pub(crate) fn trusts(&self, url: &Url) -> bool {
        let host = Host::of(url);
        self.bases.iter().any(|base| Some(base) == host.as_ref())
            || self.allowed.iter().any(|allowed| allowed.matches(url))
    }
}

/// Why a picture is not downloaded from a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlRefusal {
    reason: String,
    host_can_be_allowed: bool,
}

impl UrlRefusal {
    /// A refusal that allowing the host would lift.
    pub(crate) fn of_host(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), host_can_be_allowed: true }
    }

    fn of_url(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), host_can_be_allowed: false }
    }

    /// Converts the refusal to the error that the program receives for the picture.
    pub(crate) fn into_error(self) -> Error {
        let message = format!("the delivery URL was refused: {self}");
        let error = Error::new(ErrorKind::AddressRefused, message);
        if self.host_can_be_allowed {
            error
                .with_advice(
                    "if this host is trusted to deliver pictures, allow it and fetch the picture \
                     again",
                )
                .with_function("ClientBuilder::allow_delivery_host")
        } else {
            error
                .with_advice("no setting allows this URL; report it to the operator of the service")
        }
    }
}

impl fmt::Display for UrlRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl error::Error for UrlRefusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::hosts::{cases, documented};

    fn check(bases: &[&str], allowed: &[&str], url: &str) -> Result<(), UrlRefusal> {
        let bases: Vec<Url> = bases.iter().map(|base| Url::parse(base).unwrap()).collect();
        let allowed = allowed.iter().map(|host| AllowedHost::parse(host).unwrap()).collect();
        DeliveryRules::new(&bases, allowed).check(&Url::parse(url).unwrap())
    }

    #[test]
    fn the_documented_table_has_cases_of_this_module() {
        documented::is_part_of("| base | delivery URL | fetched |", cases::DELIVERY);
    }

    #[test]
    fn pictures_are_fetched_from_public_addresses_and_the_service() {
        for &(base, url, expected) in cases::DELIVERY {
            let outcome = check(&[base], &[], url);
            assert_eq!(outcome.is_ok(), expected, "{base} {url}: {outcome:?}");
        }
    }

    #[test]
    fn an_allowed_host_may_deliver_from_any_address_and_over_http() {
        let base = "https://api.example.com";
        for (allowed, url, expected) in [
            ("10.0.0.7", "http://10.0.0.7:9000/x", true),
            ("10.0.0.7:9000", "https://10.0.0.7:9000/x", true),
            ("10.0.0.7:9000", "http://10.0.0.7:22/x", false),
            ("minio.internal:9000", "http://minio.internal:9000/x", true),
            ("minio.internal:9000", "http://minio.internal:9001/x", false),
            ("localhost", "http://127.0.0.1:9000/x", true),
            ("127.0.0.1", "http://127.0.0.2/x", false),
            ("10.0.0.7", "ftp://10.0.0.7/x", false),
            ("10.0.0.7", "http://user:password@10.0.0.7/x", false),
        ] {
            assert_eq!(check(&[base], &[allowed], url).is_ok(), expected, "{allowed} {url}");
        }
    }

    #[test]
    fn the_regional_host_may_deliver() {
        let bases = ["https://api.example.com", "https://10.0.0.9:8443"];
        assert_eq!(check(&bases, &[], "https://10.0.0.9/x"), Ok(()));
        assert!(check(&bases[..1], &[], "https://10.0.0.9/x").is_err());
    }

    #[test]
    fn a_refusal_has_a_reason_without_secrets() {
        let base = ["https://api.example.com"];
        let shown = |url: &str| check(&base, &[], url).unwrap_err().to_string();
        assert_eq!(
            shown("https://169.254.169.254/x?s=SECRET"),
            "169.254.169.254 is a link-local address"
        );
        assert_eq!(
            shown("https://user:SECRET@cdn.example.com"),
            "the URL has a user name or a password"
        );
        assert_eq!(shown("data:image/png;base64,SECRET"), "the URL scheme is `data`, not https");
        assert_eq!(
            shown("http://cdn.example.com/SECRET"),
            "cdn.example.com uses http, but the base URL uses https"
        );
    }
}
