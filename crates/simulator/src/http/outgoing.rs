//! Sends requests to other servers: for webhooks, and for images that are given by their URLs.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    sync::{Arc, OnceLock},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, StatusCode, header, request},
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
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Incoming,
    _connection: JoinSet<()>,
}

impl Client {
    pub(crate) fn new(only_loopback: Option<&'static str>, own_ports: Vec<u16>) -> Self {
        Self { only_loopback, own_ports, trusted: OnceLock::new() }
    }

    /// Sends a request. Adds the path, and the headers that every request has.
    pub(crate) async fn send(
        &self,
        target: &Target,
        request: request::Builder,
        body: Bytes,
    ) -> Result<Response, String> {
        let request = request
            .uri(target.path_and_query())
            .header(header::HOST, target.authority())
            .header(header::USER_AGENT, USER_AGENT)
            .body(Full::new(body))
            .map_err(|_| "could not build a request for the URL")?;
        let addresses = self.resolve(target).await?;
        let connection = TcpStream::connect(&addresses[..])
            .await
            .map_err(|error| format!("could not connect: {error}"))?;
        if target.is_https() {
            exchange(self.encrypt(&target.host, connection).await?, request).await
        } else {
            exchange(connection, request).await
        }
    }

    /// Encrypts a connection to `host`.
    async fn encrypt(
        &self,
        host: &Host,
        connection: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        let trusted = self.trusted.get_or_init(|| {
            let trusted = trusted().map_err(|error| format!("no trusted certificates: {error}"))?;
            Ok(Arc::new(trusted))
        });
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone())
                .map_err(|_| "the host is not a valid TLS server name")?,
            Host::Ipv4(ip) => ServerName::from(IpAddr::from(*ip)),
            Host::Ipv6(ip) => ServerName::from(IpAddr::from(*ip)),
        };
        let connector = TlsConnector::from(trusted.clone()?);
        connector.connect(name, connection).await.map_err(|error| format!("TLS failed: {error}"))
    }

    /// Checks a URL. Returns its target, or why the URL is refused.
    pub(crate) fn target(&self, url: Url) -> Result<Target, &'static str> {
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
    async fn resolve(&self, target: &Target) -> Result<Vec<SocketAddr>, String> {
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
    Ok(Response { status: head.status, headers: head.headers, body, _connection: running })
}

fn trusted() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}

/// A URL whose host is allowed, as far as is known. If the host is a name, its addresses are
/// checked later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) url: Url,
    host: Host,
    port: u16,
}

impl Target {
    /// The path with the query, which may contain a secret and must not be shown.
    fn path_and_query(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// The value of the `host` header.
    fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    fn is_https(&self) -> bool {
        self.url.scheme() == "https"
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

    fn allowed(only_loopback: Option<&'static str>) -> Client {
        Client::new(only_loopback, vec![4321])
    }

    #[tokio::test]
    async fn resolved_addresses_are_checked() {
        let unchecked = Client::new(None, Vec::new());
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
