//! One delivery attempt over the network: connects, sends, and reads the response headers.

use std::{pin::pin, sync::OnceLock, time::Duration};

use axum::{
    body::Bytes,
    http::{HeaderName, HeaderValue, Request, StatusCode, header},
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::receiver::Receiver;
use crate::http::outgoing::{Tls, USER_AGENT};

/// How much of a response body is read and discarded.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// What to send, and how long to wait for the response.
pub(super) struct Post {
    pub(super) receiver: Receiver,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
    pub(super) timeout: Duration,
}

impl Post {
    /// Returns the status code of the response, or what went wrong without any part of the URL.
    pub(super) async fn send(self, tls: &Tls) -> Result<StatusCode, String> {
        let status = OnceLock::new();
        let sending = async {
            let origin = &self.receiver.origin;
            let connection =
                origin.connect().await.map_err(|error| format!("could not connect: {error}"))?;
            if origin.https {
                self.exchange(tls.wrap(&origin.host, connection).await?, &status).await
            } else {
                self.exchange(connection, &status).await
            }
        };
        match timeout(self.timeout, sending).await {
            Ok(ended) => ended,
            // If the response headers have arrived, they decide.
            Err(_) => status
                .get()
                .copied()
                .ok_or_else(|| format!("no response within {} s", self.timeout.as_secs_f64())),
        }
    }

    /// Sets `status` as soon as it is known.
    async fn exchange(
        &self,
        connection: impl AsyncRead + AsyncWrite + Unpin,
        status: &OnceLock<StatusCode>,
    ) -> Result<StatusCode, String> {
        let broken = |error: hyper::Error| format!("the connection failed: {error}");
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(connection)).await.map_err(broken)?;
        let mut request = Request::post(&self.receiver.path_and_query)
            .header(header::HOST, self.receiver.origin.to_string())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, USER_AGENT);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(self.body.clone()));
        let request = request.map_err(|_| "could not build a request for the URL".to_owned())?;
        let exchange = async move {
            let response = sender.send_request(request).await.map_err(broken)?;
            let status = *status.get_or_init(|| response.status());
            // Read the body so that the receiver can finish its response. Its content and end do
            // not matter.
            drop(Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await);
            Ok(status)
        };
        let (mut exchange, connection) = (pin!(exchange), pin!(connection));
        tokio::select! {
            response = &mut exchange => response,
            // The response may be complete although the connection has ended.
            _ = connection => exchange.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
    async fn receiver() -> (u16, Tls) {
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
        (port, Tls::with(client))
    }

    async fn send(url: &str, tls: &Tls) -> Result<StatusCode, String> {
        let receiver = Receiver::at(&url::Url::parse(url).unwrap(), false).unwrap();
        let timeout = Duration::from_secs(10);
        Post { receiver, headers: Vec::new(), body: "the body".into(), timeout }.send(tls).await
    }

    #[tokio::test]
    async fn https_requires_a_trusted_certificate_for_the_host() {
        let (port, trusting) = receiver().await;
        assert_eq!(
            send(&format!("https://localhost:{port}/"), &trusting).await,
            Ok(StatusCode::NO_CONTENT)
        );
        let other_name = send(&format!("https://127.0.0.1:{port}/"), &trusting).await.unwrap_err();
        assert!(other_name.starts_with("TLS failed"), "{other_name}");
        // This uses the machine's certificates, of which there may be none.
        let unknown =
            send(&format!("https://localhost:{port}/"), &Tls::default()).await.unwrap_err();
        assert!(
            unknown.starts_with("TLS failed") || unknown.starts_with("no trusted certificates"),
            "{unknown}"
        );
    }
}
