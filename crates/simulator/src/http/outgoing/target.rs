//! The targets of outgoing requests, and the addresses that are allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use tokio::net::lookup_host;
use url::{Host, Position, Url};

/// The addresses to which the simulator may send requests.
#[derive(Debug)]
pub(crate) struct Allowed {
    /// If only addresses of this machine are allowed: the reason to give for the refusal of others.
    pub(crate) only_loopback: Option<&'static str>,
    /// The ports at which the simulator itself listens, to which it sends nothing.
    pub(crate) own_ports: Vec<u16>,
}

/// A URL whose host is allowed, as far as is known. If the host is a name, its addresses are
/// checked later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(super) host: Host,
    port: u16,
}

impl Target {
    /// The path with the query, which may contain a secret and must not be shown.
    pub(super) fn path_and_query(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// The value of the `host` header.
    pub(super) fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    pub(super) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }
}

impl Allowed {
    /// Checks a URL. Returns its target, or why the URL is refused.
    pub(super) fn target(&self, url: Url) -> Result<Target, &'static str> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the URL is neither http nor https");
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err("the URL has no host");
        };
        let host = host.to_owned();
        match (known_addresses(&host), self.only_loopback) {
            (Some(ips), _) => ips.into_iter().try_for_each(|ip| self.check(ip, port))?,
            (None, Some(refusal)) => return Err(refusal),
            (None, None) => {}
        }
        Ok(Target { url, host, port })
    }

    /// Returns the addresses of a target, all of which are allowed. The name is resolved only here,
    /// so that the connection goes to one of the addresses that were checked.
    pub(super) async fn resolve(&self, target: &Target) -> Result<Vec<SocketAddr>, String> {
        let ips = match known_addresses(&target.host) {
            Some(known) => known,
            None => lookup_host((target.host.to_string(), target.port))
                .await
                .map_err(|error| format!("could not resolve the host: {error}"))?
                .map(|address| address.ip())
                .collect(),
        };
        let address = |ip: IpAddr| SocketAddr::new(ip.to_canonical(), target.port);
        ips.iter().try_for_each(|ip| self.check(*ip, target.port))?;
        Ok(ips.into_iter().map(address).collect())
    }

    fn check(&self, ip: IpAddr, port: u16) -> Result<(), &'static str> {
        // An IPv4 address may be written as an IPv6 address.
        let ip = ip.to_canonical();
        if ip.is_unspecified() {
            return Err("the host is not an address of a machine");
        }
        match self.only_loopback {
            Some(refusal) if !ip.is_loopback() => Err(refusal),
            _ if self.own_ports.contains(&port) && is_local(ip) => {
                Err("the simulator does not send requests to itself")
            }
            _ => Ok(()),
        }
    }
}

/// The addresses of a host that need not be resolved.
fn known_addresses(host: &Host) -> Option<Vec<IpAddr>> {
    match host {
        Host::Ipv4(ip) => Some(vec![(*ip).into()]),
        Host::Ipv6(ip) => Some(vec![(*ip).into()]),
        Host::Domain(name) if name == "localhost" => {
            Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
        }
        Host::Domain(_) => None,
    }
}

/// Whether an address belongs to this machine, because a socket can be bound to it.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELSEWHERE: &str = "the host is elsewhere";
    const ITSELF: &str = "the simulator does not send requests to itself";

    fn allowed(only_loopback: Option<&'static str>) -> Allowed {
        Allowed { only_loopback, own_ports: vec![4321] }
    }

    #[tokio::test]
    async fn resolved_addresses_are_checked() {
        let unchecked = Allowed { only_loopback: None, own_ports: Vec::new() };
        let target = |url| unchecked.target(Url::parse(url).unwrap()).unwrap();
        let itself = Err(ITSELF.to_owned());
        for url in ["http://127.0.0.2:4321/", "http://localhost:4321/"] {
            assert_eq!(allowed(None).resolve(&target(url)).await, itself, "{url}");
        }
        let elsewhere = target("http://192.0.2.1/");
        assert_eq!(allowed(Some(ELSEWHERE)).resolve(&elsewhere).await, Err(ELSEWHERE.to_owned()));
        let mapped = target("http://[::ffff:127.0.0.1]:7/");
        let found = allowed(Some(ELSEWHERE)).resolve(&mapped).await;
        assert_eq!(found, Ok(vec!["127.0.0.1:7".parse().unwrap()]));
    }
}
