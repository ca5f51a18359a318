//! Where the key may go: to the configured bases, to polling hosts of the same registrable domain over https, and to
//! hosts that the user allowed. An exact-host rule would break services that poll at regional hosts; no rule would hand
//! the key to whatever host an answer named.

use std::net::IpAddr;

use url::{Host, Url};

#[derive(Debug, Clone)]
pub(crate) struct KeyOrigins {
    bases: Vec<Url>,
    /// Lower-case hosts, or `host:port`.
    allowed: Vec<String>,
}

impl KeyOrigins {
    pub(crate) fn new(bases: Vec<Url>, allowed: Vec<String>) -> Self {
        Self { bases, allowed: allowed.into_iter().map(|host| host.to_ascii_lowercase()).collect() }
    }

    pub(crate) fn may_receive_key(&self, url: &Url) -> bool {
        self.bases.iter().any(|base| base.origin() == url.origin() || same_domain(base, url))
            || self.is_allowed(url)
    }

    fn is_allowed(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().map(str::to_ascii_lowercase) else { return false };
        let with_port = url.port_or_known_default().map(|port| format!("{host}:{port}"));
        let named =
            self.allowed.iter().any(|allowed| *allowed == host || Some(allowed) == with_port.as_ref());
        // In clear text only within this machine.
        named && (url.scheme() == "https" || url.scheme() == "http" && is_loopback(url))
    }
}

fn same_domain(base: &Url, url: &Url) -> bool {
    if base.scheme() != "https" || url.scheme() != "https" {
        return false;
    }
    match (registrable_domain(base), registrable_domain(url)) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => false,
    }
}

/// `example.co.uk` of `a.b.example.co.uk`; none for addresses in numbers and for a public suffix itself.
fn registrable_domain(url: &Url) -> Option<String> {
    let Some(Host::Domain(domain)) = url.host() else { return None };
    let domain = domain.trim_end_matches('.').to_ascii_lowercase();
    let registrable = psl::domain(domain.as_bytes())?;
    // An unlisted suffix (`.internal`, a single label) tells nothing about who owns what below it.
    registrable.suffix().is_known().then(|| String::from_utf8_lossy(registrable.as_bytes()).into_owned())
}

/// Whether it is on this machine, by its address or by the name `localhost`.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        Some(Host::Domain(domain)) => domain == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(base: &str, allowed: &[&str], url: &str) -> bool {
        let allowed = allowed.iter().map(ToString::to_string).collect();
        KeyOrigins::new(vec![Url::parse(base).unwrap()], allowed).may_receive_key(&Url::parse(url).unwrap())
    }

    #[test]
    fn the_base_and_its_domain_over_https() {
        let base = "https://api.example.co.uk";
        assert!(allows(base, &[], "https://api.example.co.uk/v1/get_result?id=1"));
        assert!(allows(base, &[], "https://api.eu.example.co.uk/v1/get_result"));
        assert!(allows(base, &[], "https://example.co.uk:8443/"));
        assert!(!allows(base, &[], "http://api.example.co.uk/"));
        assert!(!allows(base, &[], "https://other.co.uk/"));
        assert!(!allows(base, &[], "https://co.uk/"));
        assert!(!allows(base, &[], "https://example.co.uk.evil.com/"));
        assert!(!allows(base, &[], "https://evilexample.co.uk/"));
    }

    #[test]
    fn shared_suffixes_and_numbers_are_no_domain() {
        assert!(!allows("https://a.github.io", &[], "https://b.github.io/"));
        assert!(!allows("https://10.0.0.1", &[], "https://10.0.0.2/"));
        assert!(!allows("http://127.0.0.1:4000", &[], "http://127.0.0.1:4001/"));
        assert!(!allows("https://api.internal", &[], "https://evil.internal/"));
        assert!(allows("http://127.0.0.1:4000", &[], "http://127.0.0.1:4000/x"));
    }

    #[test]
    fn allowed_hosts_over_https_or_loopback() {
        let base = "https://api.example.com";
        assert!(allows(base, &["Polls.Other.net"], "https://polls.other.net/x"));
        assert!(!allows(base, &["polls.other.net"], "http://polls.other.net/x"));
        assert!(!allows(base, &["other.net"], "https://polls.other.net/x"));
        assert!(allows(base, &["127.0.0.1:9000"], "http://127.0.0.1:9000/x"));
        assert!(!allows(base, &["127.0.0.1:9000"], "http://127.0.0.1:9001/x"));
    }
}
