//! Serves over TLS, with the user's certificate or a self-signed one.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::Path,
    sync::Arc,
};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use crate::error::StartError;

/// Creates the acceptor from the files. If there are none, first writes a self-signed certificate
/// for these hosts.
pub(crate) fn acceptor(
    certificate: &Path,
    key: Option<&Path>,
    hosts: &[String],
) -> Result<TlsAcceptor, StartError> {
    if key.is_none() && !certificate.exists() {
        write_self_signed(certificate, hosts)?;
    }
    let certificates = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed("read", certificate, &error))?;
    let key_file = key.unwrap_or(certificate);
    let key =
        PrivateKeyDer::from_pem_file(key_file).map_err(|error| failed("read", key_file, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|error| failed("read", certificate, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Writes a new key and its certificate to a new file, which only this user can read.
fn write_self_signed(path: &Path, hosts: &[String]) -> Result<(), StartError> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(hosts).map_err(|error| failed("write", path, &error))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let text = cert.pem() + &signing_key.serialize_pem();
    match options.open(path).and_then(|mut file| file.write_all(text.as_bytes())) {
        // Another simulator has written the file at the same time, so use that one.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        written => written.map_err(|error| failed("write", path, &error)),
    }
}

fn failed(action: &str, path: &Path, problem: &dyn ToString) -> StartError {
    let problem = format!("could not {action} {}: {}", path.display(), problem.to_string());
    StartError::setting("tls", problem)
}
