//! Decides when two hosts are the same, which hosts may receive the key, and which hosts may
//! deliver pictures.

mod address;
mod allowed;
mod delivery;
#[cfg(test)]
mod documented;
mod key;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

pub(crate) use self::address::reason_not_public;
pub(crate) use self::allowed::{AllowedHost, printable};
pub(crate) use self::delivery::{DeliveryRules, UrlRefusal};
pub(crate) use self::key::KeyOrigins;

/// A host in normalized form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// `localhost`, `127.0.0.1` and `[::1]`, which usually reach the same process. Other addresses
    /// in `127.0.0.0/8` may not.
    Loopback,
    Address(IpAddr),
    /// In lowercase and Punycode, without a trailing dot.
    Name(String),
}

impl Host {
    pub(crate) fn of(url: &Url) -> Option<Self> {
        url.host().map(Self::from)
    }
}

impl<S: AsRef<str>> From<url::Host<S>> for Host {
    fn from(host: url::Host<S>) -> Self {
        let address = match host {
            url::Host::Domain(name) => {
                let name = name.as_ref().to_ascii_lowercase();
                return match name.strip_suffix('.').unwrap_or(&name) {
                    // Some resolvers ignore further dots.
                    name if name.trim_end_matches('.') == "localhost" => Self::Loopback,
                    name => Self::Name(name.to_owned()),
                };
            }
            url::Host::Ipv4(address) => IpAddr::V4(address),
            url::Host::Ipv6(address) => IpAddr::V6(address).to_canonical(),
        };
        match address {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Self::Loopback,
            address => Self::Address(address),
        }
    }
}

/// Whether the URL points to the local machine, by address or as `localhost`.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match Host::of(url) {
        Some(Host::Loopback) => true,
        Some(Host::Address(address)) => address.is_loopback(),
        Some(Host::Name(_)) | None => false,
    }
}

/// Whether the scheme, host and port are the same. All loopback names are one host.
fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && Host::of(one).is_some()
        && Host::of(one) == Host::of(other)
        && one.port_or_known_default() == other.port_or_known_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn spellings_of_one_host_are_equal() {
        for (one, other) in [
            ("https://API.Example.com", "https://api.example.com."),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
            ("https://api。example．com", "https://api.example.com"),
            ("http://localhost", "http://LOCALHOST."),
            ("http://localhost", "http://127.0.0.1"),
            ("http://127.0.0.1", "http://[::1]"),
            ("http://127.0.0.1", "http://0x7f.1"),
            ("http://127.0.0.1", "http://2130706433"),
            ("http://127.0.0.1", "http://[::ffff:127.0.0.1]"),
            ("http://10.0.0.7", "http://[::ffff:10.0.0.7]"),
        ] {
            assert_eq!(Host::of(&url(one)), Host::of(&url(other)), "{one} {other}");
            assert!(same_origin(&url(one), &url(other)), "{one} {other}");
        }
    }

    #[test]
    fn a_different_scheme_port_or_host_is_a_different_origin() {
        for (one, other) in [
            ("http://localhost:4000", "http://127.0.0.1:4001"),
            ("http://localhost:4000", "https://127.0.0.1:4000"),
            ("http://127.0.0.1:4000", "http://127.0.0.2:4000"),
            ("http://localhost:4000", "http://localhost.example:4000"),
            ("https://api.example.com", "https://api.example.com:8443"),
            ("https://api.example.com", "https://api.example.com..:443"),
        ] {
            assert!(!same_origin(&url(one), &url(other)), "{one} {other}");
        }
        assert!(same_origin(&url("https://api.example.com"), &url("https://api.example.com:443")));
    }

    #[test]
    fn loopback_is_recognized_by_address_and_by_name() {
        for (address, expected) in [
            ("http://localhost:8080", true),
            ("http://localhost.:8080", true),
            ("http://localhost..", true),
            ("http://127.0.0.1", true),
            ("http://127.8.9.1", true),
            ("http://[::1]", true),
            ("http://[::ffff:127.0.0.2]", true),
            ("http://0.0.0.0", false),
            ("http://localhost.example.com", false),
            ("http://api.localhost", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(is_loopback(&url(address)), expected, "{address}");
        }
    }
}
