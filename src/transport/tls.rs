//! The TLS back end, chosen by Cargo features: reqwest's own default (rustls with aws-lc-rs), or
//! the system's library.
//!
//! Cargo unifies features, so what this crate turns on in reqwest is on for the whole program. Each
//! back end here comes with all it needs, so that a `reqwest::Client::new()` elsewhere in the
//! program works as it does without this crate. No process-wide state is touched.

use reqwest::ClientBuilder;

/// Whether this build can speak https by itself.
pub(crate) const IS_BUILT_IN: bool = cfg!(any(feature = "rustls", feature = "native-tls"));

/// What the HTTP clients of one [`Client`](crate::Client) share: reading the system's certificates
/// takes a while.
#[derive(Clone)]
pub(crate) struct Tls {
    #[cfg(all(feature = "rustls", not(feature = "native-tls")))]
    config: rustls::ClientConfig,
}

#[cfg(all(feature = "rustls", not(feature = "native-tls")))]
impl Tls {
    /// Fails if the system has no certificates and a base needs them. If all bases are `http://` (a
    /// simulator in a bare container) it does not: every certificate is then refused, should a
    /// delivery URL need one.
    pub(crate) fn new(base_is_https: bool) -> Result<Self, String> {
        use std::sync::Arc;

        use rustls::{
            ClientConfig, RootCertStore,
            crypto::{CryptoProvider, aws_lc_rs},
        };
        use rustls_platform_verifier::BuilderVerifierExt;

        // A program that installed a provider of its own chose it.
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
        Ok(Self { config })
    }

    pub(crate) fn configure(&self, builder: ClientBuilder) -> ClientBuilder {
        builder.tls_backend_preconfigured(self.config.clone())
    }
}

#[cfg(not(all(feature = "rustls", not(feature = "native-tls"))))]
impl Tls {
    pub(crate) fn new(_base_is_https: bool) -> Result<Self, String> {
        Ok(Self {})
    }

    pub(crate) fn configure(&self, builder: ClientBuilder) -> ClientBuilder {
        #[cfg(feature = "native-tls")]
        let builder = builder.tls_backend_native();
        builder
    }
}
