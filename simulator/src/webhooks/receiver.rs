//! Where a webhook goes: an address that may be connected to.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpStream, lookup_host};
use url::{Host, Url};

/// A receiver that may be connected to.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Receiver {
    pub(super) origin: Origin,
    /// The path with the query, which may hold a secret and is never shown.
    pub(super) path_and_query: String,
}

/// The program that receives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) https: bool,
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Receiver {
    /// The receiver at an address, or why it is refused.
    pub(super) fn at(url: &Url, allow_remote: bool) -> Result<Self, &'static str> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the address is neither http nor https");
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err("the address names no host");
        };
        let local = match &host {
            Host::Ipv4(ip) => ip.is_loopback(),
            Host::Ipv6(ip) => ip.is_loopback(),
            Host::Domain(name) => *name == "localhost",
        };
        if !local && !allow_remote {
            return Err(
                "the receiver is not on this machine, and `webhooks.allow_remote` is not set",
            );
        }
        let path_and_query = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Self {
            origin: Origin { https: url.scheme() == "https", host: host.to_owned(), port },
            path_and_query,
        })
    }
}

impl Origin {
    /// Connects to the addresses that were allowed: an IP address is taken as it is, `localhost` is
    /// loopback, and only other names are looked up, which are refused above unless any address
    /// will do.
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        let at = |ip| SocketAddr::new(ip, self.port);
        let addresses = match &self.host {
            Host::Ipv4(ip) => vec![at((*ip).into())],
            Host::Ipv6(ip) => vec![at((*ip).into())],
            Host::Domain(name) if name == "localhost" => {
                vec![at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())]
            }
            Host::Domain(name) => lookup_host((name.as_str(), self.port)).await?.collect(),
        };
        TcpStream::connect(&addresses[..]).await
    }
}

/// As the header `host` names it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.https, self.port) {
            (true, 443) | (false, 80) => write!(f, "{}", self.host),
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The address without what may be secret in it: user information, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Only addresses without a host refuse this, and they have no user either.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str, allow_remote: bool) -> Result<Receiver, &'static str> {
        Receiver::at(&Url::parse(url).unwrap(), allow_remote)
    }

    #[test]
    fn only_loopback_is_let_through_unless_more_is_allowed() {
        for url in [
            "http://127.0.0.1:1/a",
            "http://127.9.9.9/",
            "http://[::1]:2",
            "https://LOCALHOST/x",
            "http://127.1",
        ] {
            assert!(at(url, false).is_ok(), "{url}");
        }
        for url in [
            "http://10.0.0.1/",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://127.0.0.1@example.com/",
            "https://example.com/",
        ] {
            assert!(at(url, false).is_err(), "{url}");
            assert!(at(url, true).is_ok(), "{url}");
        }
        for url in ["ftp://127.0.0.1/", "mailto:a@localhost", "file:///etc/passwd"] {
            assert!(at(url, true).is_err(), "{url}");
        }
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let url = Url::parse("http://user:hidden@127.0.0.1:8080/hook?token=hidden#hidden").unwrap();
        assert_eq!(shown(&url), "http://127.0.0.1:8080/hook");
        let receiver = Receiver::at(&url, false).unwrap();
        assert_eq!(receiver.path_and_query, "/hook?token=hidden");
        assert_eq!(receiver.origin.to_string(), "127.0.0.1:8080");
        assert_eq!(at("https://[::1]/", false).unwrap().origin.to_string(), "[::1]");
    }
}
