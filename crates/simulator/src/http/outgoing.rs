//! Sends requests to other servers: for webhooks, and for images that are given by their URLs.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    sync::{Arc, OnceLock},
};

use axum::{
    body::Bytes,
    http::{header, request, response},
};
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    task::JoinSet,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{self, ClientConfig, pki_types::ServerName},
};
use url::{Host, Position, Url};

/// The user agent, which a request cannot override. The control interface refuses requests with
/// this user agent.
pub(crate) const USER_AGENT: &str = concat!("imagekiln-simulator/", env!("CARGO_PKG_VERSION"));

/// Sends requests, but only to allowed servers. Its errors never quote a URL, which may contain
/// secrets.
pub(crate) struct Client {
    /// If only addresses of this machine are allowed: the reason to give for the refusal of others.
    only_loopback: Option<&'static str>,
    /// The ports at which the simulator itself listens, to which it sends nothing.
    own_ports: Vec<u16>,
    /// The certificates that this machine trusts, loaded when they are first needed.
    trusted: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// A response whose body may still be arriving. Dropping it closes the connection.
pub(crate) struct Response {
    pub(crate) head: response::Parts,
    pub(crate) body: Incoming,
    _connection: JoinSet<()>,
}

impl Client {
    pub(crate) fn new(only_loopback: Option<&'static str>, own_ports: Vec<u16>) -> Self {
        Self { only_loopback, own_ports, trusted: OnceLock::new() }
    }

    /// Sends a request to a URL, unless the URL is refused. Adds the path, and the headers that
    /// every request has.
    pub(crate) async fn send(
        &self,
        url: &Url,
        request: request::Builder,
        body: Bytes,
    ) -> Result<Response, String> {
        self.check(url)?;
        let request = request
            .uri(&url[Position::BeforePath..Position::AfterQuery])
            .header(header::HOST, &url[Position::BeforeHost..Position::AfterPort])
            .header(header::USER_AGENT, USER_AGENT)
            .body(Full::new(body))
            .map_err(|_| "could not build a request for the URL")?;
        let addresses = self.resolve(url).await?;
        let connection = TcpStream::connect(&addresses[..])
            .await
            .map_err(|error| format!("could not connect: {error}"))?;
        if url.scheme() == "https" {
            exchange(self.encrypt(url, connection).await?, request).await
        } else {
            exchange(connection, request).await
        }
    }

    /// Encrypts a connection to the host of a URL.
    async fn encrypt(
        &self,
        url: &Url,
        connection: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        let trusted = self.trusted.get_or_init(|| {
            trusted().map(Arc::new).map_err(|error| format!("no trusted certificates: {error}"))
        });
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| "the host is not a valid TLS server name")?;
        let connector = TlsConnector::from(trusted.clone()?);
        connector.connect(name, connection).await.map_err(|error| format!("TLS failed: {error}"))
    }

    /// Returns why a URL is refused, as far as is known. If the host is a name, its addresses are
    /// checked later.
    pub(crate) fn check(&self, url: &Url) -> Result<(), &'static str> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the URL is neither http nor https");
        }
        match (known_addresses(url), self.only_loopback) {
            (Some(ips), _) => ips.into_iter().try_for_each(|ip| self.check_address(ip, port(url))),
            (None, Some(refusal)) => Err(refusal),
            (None, None) => Ok(()),
        }
    }

    /// Returns the addresses of a URL's host, all of which are allowed. The name is resolved only
    /// here, so that the connection goes to one of the addresses that were checked.
    async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, String> {
        let port = port(url);
        let ips = match known_addresses(url) {
            Some(known) => known,
            None => lookup_host((url.host_str().unwrap_or_default(), port))
                .await
                .map_err(|error| format!("could not resolve the host: {error}"))?
                .map(|address| address.ip())
                .collect(),
        };
        ips.iter().try_for_each(|ip| self.check_address(*ip, port))?;
        Ok(ips.into_iter().map(|ip| SocketAddr::new(ip.to_canonical(), port)).collect())
    }

    fn check_address(&self, ip: IpAddr, port: u16) -> Result<(), &'static str> {
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

/// Describes why a connection failed before the end of the response.
pub(crate) fn broken(error: hyper::Error) -> String {
    format!("the connection failed: {error}")
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: request::Request<Full<Bytes>>,
) -> Result<Response, String> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let mut running = JoinSet::new();
    // Ignore its error here: sending the request and reading the body of the response report it.
    running.spawn(async { drop(connection.await) });
    let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
    Ok(Response { head, body, _connection: running })
}

fn trusted() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}

/// The port of a URL, which http and https URLs always have.
fn port(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or_default()
}

/// The addresses of a URL's host, if they need not be resolved.
fn known_addresses(url: &Url) -> Option<Vec<IpAddr>> {
    match url.host()? {
        Host::Ipv4(ip) => Some(vec![ip.into()]),
        Host::Ipv6(ip) => Some(vec![ip.into()]),
        Host::Domain("localhost") => {
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

    fn allowed(only_loopback: Option<&'static str>) -> Client {
        Client::new(only_loopback, vec![4321])
    }

    #[tokio::test]
    async fn resolved_addresses_are_checked() {
        let target = |url| Url::parse(url).unwrap();
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
