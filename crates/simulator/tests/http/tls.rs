//! TLS.

use std::{fs, path::Path, sync::Arc};

use imagekiln_simulator::{Config, Simulator, TlsFiles};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use super::raw::Raw;

fn files(certificate: &Path, key: Option<&Path>) -> Config {
    let tls = TlsFiles { certificate: certificate.to_owned(), key: key.map(Path::to_owned) };
    Config { tls: Some(tls), ..Config::default() }
}

/// Sends a request over TLS and reads the complete response.
async fn get(simulator: &Simulator, certificate: &CertificateDer<'_>, path: &str) -> String {
    let address = simulator.base_url().strip_prefix("https://").unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn given_certificates_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let simulator = Simulator::start(files(&certificate, Some(&key))).await.unwrap();
    let response = get(&simulator, made.cert.der(), "/healthz").await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    // Also the responses that hyper makes itself.
    let response = get(&simulator, made.cert.der(), &format!("/{}", "x".repeat(70_000))).await;
    assert!(response.starts_with("HTTP/1.1 431 "), "{response}");
    assert!(simulator.control_url().starts_with("http://"));
}

#[tokio::test]
async fn a_self_signed_certificate_is_written_once_and_only_its_owner_can_read_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kiln.pem");
    let simulator = Simulator::start(files(&path, None)).await.unwrap();
    let written = fs::read_to_string(&path).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let certificate = CertificateDer::from_pem_file(&path).unwrap();
    let response = get(&simulator, &certificate, "/healthz").await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");

    // The next simulator uses it too, so that clients that trust it need no change.
    let next = Simulator::start(files(&path, None)).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    let response = get(&next, &certificate, "/healthz").await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
}

#[tokio::test]
async fn plain_requests_get_no_response() {
    let folder = tempfile::tempdir().unwrap();
    let simulator = Simulator::start(files(&folder.path().join("kiln.pem"), None)).await.unwrap();
    let plain = simulator.base_url().replace("https://", "http://");
    let raw = Raw::send("GET", &format!("{plain}/healthz"), &[], "").await;
    assert!(!String::from_utf8_lossy(&raw.body).contains("ok"));
}

#[tokio::test]
async fn unusable_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = file("cert.pem", &made.cert.pem());
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other_key = file("other.pem", &other.signing_key.serialize_pem());
    for (config, part) in [
        (files(&file("empty.pem", ""), None), "empty.pem"),
        (files(&certificate, None), "cert.pem"),
        (files(&certificate, Some(&folder.path().join("none.pem"))), "none.pem"),
        (files(&certificate, Some(&other_key)), "cert.pem"),
        (files(&folder.path().join("none/kiln.pem"), None), "kiln.pem"),
    ] {
        let error = Simulator::start(config).await.unwrap_err().to_string();
        assert!(error.contains("`tls`") && error.contains(part), "{error}");
    }
}
