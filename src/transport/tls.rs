//! The TLS backend, selected by Cargo features: the default of reqwest (rustls with aws-lc-rs), or
//! the native TLS library of the operating system.
//!
//! Cargo unifies features, so a feature of reqwest that this crate enables is enabled for the whole
//! program. Each backend enables everything it needs, so that `reqwest::Client::new()` elsewhere in
//! the program works as it does without this crate. This module changes no process-wide state.

use std::sync::Arc;

#[cfg(all(feature = "rustls", not(feature = "native-tls")))]
use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, aws_lc_rs},
};
#[cfg(all(feature = "rustls", not(feature = "native-tls")))]
use rustls_platform_verifier::BuilderVerifierExt;

use super::connections::Customize;

/// Whether this build includes a TLS backend.
pub(crate) const IS_BUILT_IN: bool = cfg!(any(feature = "rustls", feature = "native-tls"));

/// Returns what sets TLS up in all HTTP clients of one [`Client`](crate::Client). They share it,
/// because loading the system certificates is slow.
///
/// Fails if the system has no certificates and a base URL uses https. If all base URLs use http
/// (for example a simulator in a minimal container), it succeeds with an empty certificate store,
/// and https delivery URLs will fail.
#[cfg(all(feature = "rustls", not(feature = "native-tls")))]
pub(crate) fn backend(base_is_https: bool) -> Result<Customize, String> {
    // Use the provider that the program installed, if any.
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match builder.clone().with_platform_verifier() {
        Ok(verified) => verified,
        Err(error) if base_is_https => return Err(error.to_string()),
        Err(_) => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(move |builder| builder.tls_backend_preconfigured(config.clone())))
}

#[cfg(not(all(feature = "rustls", not(feature = "native-tls"))))]
pub(crate) fn backend(_base_is_https: bool) -> Result<Customize, String> {
    Ok(Arc::new(|builder| {
        #[cfg(feature = "native-tls")]
        let builder = builder.tls_backend_native();
        builder
    }))
}
