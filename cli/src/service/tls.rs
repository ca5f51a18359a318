//! TLS by rustls with ring, for the shortest cold build. The SDK leaves this choice to the program
//! because it applies to the whole process.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::failure::Failure;

/// The TLS configuration of the HTTP clients. A simulator needs no certificates, so a system
/// without any is an error only if `is_needed`.
pub fn config(is_needed: bool) -> Result<ClientConfig, Failure> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::other("could not set up TLS", &error))?;
    let builder = match builder.clone().with_platform_verifier() {
        Ok(verified) => verified,
        Err(error) if is_needed => {
            return Err(Failure::other("could not read the system's certificates", &error)
                .advise("install them; on many systems the package is ca-certificates"));
        }
        Err(_) => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
