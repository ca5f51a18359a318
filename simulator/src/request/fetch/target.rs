//! Where an image is fetched from, and which addresses are allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use tokio::net::lookup_host;
use url::{Host, Url};

/// What may be fetched from.
pub(super) struct Allowed {
    /// Whether any host is allowed, and not only this machine.
    pub(super) any_host: bool,
    pub(super) own_ports: Vec<u16>,
}

/// A URL whose addresses were resolved and are allowed.
pub(super) struct Target {
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) https: bool,
    pub(super) host: Host,
    /// The value of the `host` header.
    pub(super) authority: String,
    pub(super) path_and_query: String,
}

impl Allowed {
    /// Resolves a URL, or says why it is not allowed. Names are resolved only once, so that the
    /// connection goes to an address that was checked.
    pub(super) async fn target(&self, url: &Url) -> Result<Target, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the URL is neither http nor https".to_owned());
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err("the URL has no host".to_owned());
        };
        let ips = self.resolve(&host, port).await?;
        let path_and_query = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Target {
            addresses: ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect(),
            https: url.scheme() == "https",
            host: host.to_owned(),
            authority: match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_string(),
            },
            path_and_query,
        })
    }

    async fn resolve(&self, host: &Host<&str>, port: u16) -> Result<Vec<IpAddr>, String> {
        let found: Vec<IpAddr> = match host {
            Host::Ipv4(ip) => vec![(*ip).into()],
            Host::Ipv6(ip) => vec![(*ip).into()],
            Host::Domain("localhost") => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            Host::Domain(name) if self.any_host => {
                let found = lookup_host((*name, port)).await;
                let unresolved = |error| format!("could not resolve the host: {error}");
                found.map_err(unresolved)?.map(|address| address.ip()).collect()
            }
            Host::Domain(_) => return Err(NOT_HERE.to_owned()),
        };
        let ips: Vec<_> = found.into_iter().map(|ip| ip.to_canonical()).collect();
        ips.iter().try_for_each(|ip| self.check(*ip, port))?;
        Ok(ips)
    }

    /// Checks an address that is not an IPv4 address written as IPv6.
    fn check(&self, ip: IpAddr, port: u16) -> Result<(), String> {
        if ip.is_unspecified() {
            return Err("the host is not an address of a machine".to_owned());
        }
        if !self.any_host && !ip.is_loopback() {
            return Err(NOT_HERE.to_owned());
        }
        if self.own_ports.contains(&port) && is_local(ip) {
            return Err("the simulator does not fetch from itself".to_owned());
        }
        Ok(())
    }
}

const NOT_HERE: &str = "the host is not on this machine, and `fetch_images` is `loopback`";

/// Whether an address is one of this machine: only those can be bound.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u16 = 4321;

    async fn addresses(any_host: bool, url: &str) -> Result<Vec<SocketAddr>, String> {
        let allowed = Allowed { any_host, own_ports: vec![OWN] };
        allowed.target(&Url::parse(url).unwrap()).await.map(|target| target.addresses)
    }

    #[tokio::test]
    async fn only_loopback_is_allowed_unless_any_host_is() {
        for url in
            ["http://127.0.0.1:1/", "http://127.9.9.9/", "https://[::1]:2/", "http://localhost/"]
        {
            assert!(addresses(false, url).await.is_ok(), "{url}");
        }
        let mapped = addresses(false, "http://[::ffff:127.0.0.1]:7/").await;
        assert_eq!(mapped, Ok(vec!["127.0.0.1:7".parse().unwrap()]));
        for url in [
            "http://192.0.2.1/",
            "http://[2001:db8::1]/",
            "http://[::ffff:192.0.2.1]/",
            "http://localhost.example/",
            "http://127.0.0.1@192.0.2.1/",
        ] {
            assert_eq!(addresses(false, url).await, Err(NOT_HERE.to_owned()), "{url}");
        }
        assert!(addresses(true, "http://192.0.2.1/").await.is_ok());
        for url in
            ["http://0.0.0.0/", "http://[::]/", "http://[::ffff:0.0.0.0]/", "ftp://127.0.0.1/"]
        {
            assert!(addresses(false, url).await.is_err(), "{url}");
            assert!(addresses(true, url).await.is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn own_ports_are_not_allowed_under_any_name() {
        for host in
            ["127.0.0.1", "127.0.0.2", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433"]
        {
            for any_host in [false, true] {
                let found = addresses(any_host, &format!("http://{host}:{OWN}/")).await;
                assert_eq!(
                    found,
                    Err("the simulator does not fetch from itself".to_owned()),
                    "{host}"
                );
            }
        }
        assert!(addresses(true, &format!("http://192.0.2.1:{OWN}/")).await.is_ok());
    }
}
