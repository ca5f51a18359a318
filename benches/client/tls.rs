//! The server of the benchmarks over HTTP/2 and TLS.
//!
//! A client trusts its certificate through `SSL_CERT_FILE`, which must be set when the process
//! starts. So the benchmark runs itself again with the certificate.

use std::{convert::Infallible, env, fs, process::Command, sync::Arc};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use super::server::PENDING;

/// The path of the private key of the server's certificate.
const KEY: &str = "IMAGEKILN_BENCH_KEY";

const TRUSTED: &str = "SSL_CERT_FILE";

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

/// Responds to every request that its task is pending.
pub async fn serve(listener: TcpListener) {
    let acceptor = TlsAcceptor::from(Arc::new(tls()));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let stream = TokioIo::new(acceptor.accept(stream).await?);
            let builder = http2::Builder::new(TokioExecutor::new());
            // The client ends the connection.
            let _ = builder.serve_connection(stream, service_fn(respond)).await;
            std::io::Result::Ok(())
        });
    }
}

async fn respond(_: http::Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::from(PENDING));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}

fn tls() -> ServerConfig {
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
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}
