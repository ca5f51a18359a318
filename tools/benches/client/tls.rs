//! The servers of the benchmarks over TLS.
//!
//! A client trusts its certificate through `SSL_CERT_FILE`, which must be set when the process
//! starts. So the benchmark runs itself again with the certificate.

use std::{convert::Infallible, env, fs, process::Command, sync::Arc};

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use super::server::{PENDING, submitted};

/// The path of the private key of the server's certificate.
const KEY: &str = "IMAGEKILN_BENCH_KEY";

const TRUSTED: &str = "SSL_CERT_FILE";

/// The names of the protocols in TLS.
pub const HTTP1: &[u8] = b"http/1.1";
pub const HTTP2: &[u8] = b"h2";

/// Whether this process trusts the certificate of the server.
pub fn is_trusted() -> bool {
    env::var_os(KEY).is_some()
}

/// Runs this benchmark in a process that trusts a new certificate.
pub fn run_trusting(subject: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    let new = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(&certificate, new.cert.pem()).unwrap();
    fs::write(&key, new.signing_key.serialize_pem()).unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(subject).env(TRUSTED, certificate).env(KEY, key);
    command.args(env::args().filter(|argument| argument == "--bench"));
    assert!(command.status().unwrap().success());
}

/// Accepts every submission, and responds to every poll that its task is pending, over the protocol
/// with this name in TLS.
pub async fn serve(listener: TcpListener, url: &str, protocol: &'static [u8]) {
    let acceptor = TlsAcceptor::from(Arc::new(tls(protocol)));
    let submitted = Bytes::from(submitted(url));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (acceptor, submitted) = (acceptor.clone(), submitted.clone());
        tokio::spawn(async move {
            let stream = TokioIo::new(acceptor.accept(stream).await?);
            let service = service_fn(move |request| respond(request, submitted.clone()));
            // The client ends the connection.
            if protocol == HTTP2 {
                let builder = http2::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(stream, service).await;
            } else {
                let _ = http1::Builder::new().serve_connection(stream, service).await;
            }
            std::io::Result::Ok(())
        });
    }
}

async fn respond(
    request: http::Request<Incoming>,
    submitted: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_submission = request.method() == Method::POST;
    let body = if is_submission { submitted } else { Bytes::from_static(PENDING.as_bytes()) };
    let mut response = Response::new(Full::from(body));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}

fn tls(protocol: &[u8]) -> ServerConfig {
    let key = KeyPair::from_pem(&fs::read_to_string(env::var(KEY).unwrap()).unwrap()).unwrap();
    let parameters = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    config
}
