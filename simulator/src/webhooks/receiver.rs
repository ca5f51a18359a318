//! The receivers of webhooks, and which of them are allowed.

use std::{
    fmt, io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::{TcpStream, lookup_host};
use url::{Host, Url};

/// A receiver that is allowed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Receiver {
    pub(super) origin: Origin,
    /// The path with the query, which may contain a secret and is never shown.
    pub(super) path_and_query: String,
}

/// The scheme, host and port of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) https: bool,
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Receiver {
    /// The receiver at a URL, or why it is refused.
    pub(super) fn at(url: &Url, allow_remote: bool) -> Result<Self, &'static str> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the URL is neither http nor https");
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err("the URL has no host");
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
    /// Connects to the receiver. IP addresses are used unchanged and `localhost` is loopback. Other
    /// names are resolved; they are allowed only if any address is.
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

/// The value of the `host` header.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.https, self.port) {
            (true, 443) | (false, 80) => write!(f, "{}", self.host),
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The URL without its secret parts: user information, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // These fail only for URLs without a host, which have no user either.
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
    fn only_loopback_is_allowed_by_default() {
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
    fn secret_parts_are_not_shown() {
        let url = Url::parse("http://user:hidden@127.0.0.1:8080/hook?token=hidden#hidden").unwrap();
        assert_eq!(shown(&url), "http://127.0.0.1:8080/hook");
        let receiver = Receiver::at(&url, false).unwrap();
        assert_eq!(receiver.path_and_query, "/hook?token=hidden");
        assert_eq!(receiver.origin.to_string(), "127.0.0.1:8080");
        assert_eq!(at("https://[::1]/", false).unwrap().origin.to_string(), "[::1]");
    }
}
