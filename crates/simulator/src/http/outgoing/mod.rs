//! Sends requests to other servers: for webhooks, and for images that are given by their URLs.

mod target;

use std::{
    net::IpAddr,
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
    net::TcpStream,
    task::JoinSet,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{self, ClientConfig, pki_types::ServerName},
};
use url::{Host, Url};

pub(crate) use self::target::{Allowed, Target};

/// The user agent, which a request cannot override. The control interface refuses requests with
/// this user agent.
pub(crate) const USER_AGENT: &str = concat!("imagekiln-simulator/", env!("CARGO_PKG_VERSION"));

/// Sends requests, but only to allowed servers. Its errors never quote a URL, which may contain
/// secrets.
pub(crate) struct Client {
    allowed: Allowed,
    tls: Tls,
}

/// A response whose body may still be arriving. Dropping it closes the connection.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Incoming,
    _connection: JoinSet<()>,
}

impl Client {
    pub(crate) fn new(allowed: Allowed) -> Self {
        Self { allowed, tls: Tls::default() }
    }

    /// Checks a URL. Returns its target, or why the URL is refused.
    pub(crate) fn target(&self, url: Url) -> Result<Target, &'static str> {
        self.allowed.target(url)
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
        let addresses = self.allowed.resolve(target).await?;
        let connection = TcpStream::connect(&addresses[..])
            .await
            .map_err(|error| format!("could not connect: {error}"))?;
        if target.is_https() {
            exchange(self.tls.wrap(&target.host, connection).await?, request).await
        } else {
            exchange(connection, request).await
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

/// Encrypts connections. Trusts the certificates that this machine trusts, and loads them when they
/// are first needed.
#[derive(Default)]
struct Tls {
    trusted: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Tls {
    /// Encrypts a connection to `host`.
    async fn wrap(
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
}

fn trusted() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}
