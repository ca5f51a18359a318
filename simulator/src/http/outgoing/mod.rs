//! Requests to other servers: webhooks, and images that are given by their URLs.

mod target;
mod tls;

use axum::{
    body::Bytes,
    http::{HeaderMap, StatusCode, header, request},
};
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinSet,
};
use url::Url;

pub(crate) use self::target::{Allowed, Target};
use self::tls::Tls;

/// The user agent, which a request cannot change. The control interface refuses it.
pub(crate) const USER_AGENT: &str = concat!("imagekiln-simulator/", env!("CARGO_PKG_VERSION"));

/// Sends requests to the servers that are allowed. No error quotes a URL.
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

    /// The target of a URL, or why it is refused.
    pub(crate) fn target(&self, url: Url) -> Result<Target, &'static str> {
        self.allowed.target(url)
    }

    /// Sends a request, to which this adds the path and the headers that every request has.
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

/// Describes a connection that failed before the end of a response.
pub(crate) fn broken(error: hyper::Error) -> String {
    format!("the connection failed: {error}")
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: request::Request<Full<Bytes>>,
) -> Result<Response, String> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let mut running = JoinSet::new();
    // The request and the body of the response report its errors.
    running.spawn(async { drop(connection.await) });
    let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
    Ok(Response { status: head.status, headers: head.headers, body, _connection: running })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::http::Method;
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use tokio_rustls::{
        TlsAcceptor,
        rustls::{self, ClientConfig, RootCertStore, ServerConfig},
    };

    use super::*;

    /// A receiver over TLS, and client settings that trust it.
    async fn receiver() -> (u16, ClientConfig) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = signing_key.serialize_der().try_into().unwrap();
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(Arc::new(server));
        tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                let Ok(mut connection) = acceptor.accept(connection).await else { continue };
                let mut read = Vec::new();
                while !read.ends_with(b"the body") {
                    assert!(connection.read_buf(&mut read).await.unwrap() > 0);
                }
                connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            }
        });
        (port, client)
    }

    async fn send(host: &str, port: u16, tls: Tls) -> Result<StatusCode, String> {
        let allowed = Allowed { only_loopback: Some("elsewhere"), own_ports: Vec::new() };
        let client = Client { allowed, tls };
        let url = Url::parse(&format!("https://{host}:{port}/")).unwrap();
        let target = client.target(url).unwrap();
        let request = request::Builder::new().method(Method::POST);
        client.send(&target, request, "the body".into()).await.map(|response| response.status)
    }

    #[tokio::test]
    async fn https_requires_a_trusted_certificate_for_the_host() {
        let (port, trusting) = receiver().await;
        let trusting = || Tls::with(trusting.clone());
        assert_eq!(send("localhost", port, trusting()).await, Ok(StatusCode::NO_CONTENT));
        let other_name = send("127.0.0.1", port, trusting()).await.unwrap_err();
        assert!(other_name.starts_with("TLS failed"), "{other_name}");
        // This uses the machine's certificates, of which there may be none.
        let unknown = send("localhost", port, Tls::default()).await.unwrap_err();
        assert!(
            unknown.starts_with("TLS failed") || unknown.starts_with("no trusted certificates"),
            "{unknown}"
        );
    }
}
