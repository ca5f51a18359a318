//! The TLS back end, chosen by Cargo features and handed to the HTTP clients ready-made: no process-wide state is
//! touched, and no panic waits for a provider that nobody installed.
//!
//! Precedence where several features are on: the system's library, aws-lc-rs, ring. Without a back end only `http://`
//! bases work: a simulator, a proxy on the same machine.

use reqwest::ClientBuilder;

/// What the HTTP clients of one [`Client`](crate::Client) share: reading the system's certificates takes a while.
#[derive(Clone)]
pub(crate) struct Tls {
    #[cfg(all(feature = "__rustls", not(feature = "native-tls")))]
    config: rustls::ClientConfig,
}

#[cfg(all(feature = "__rustls", not(feature = "native-tls")))]
impl Tls {
    /// Fails where the system has no certificates and a base needs them. Where all bases are `http://` (a simulator in a
    /// bare container) it does not: then every certificate is refused, should a delivery address need one.
    pub(crate) fn new(base_is_https: bool) -> Result<Self, String> {
        use std::sync::Arc;

        use rustls::{ClientConfig, RootCertStore};
        use rustls_platform_verifier::BuilderVerifierExt;

        #[cfg(feature = "rustls-aws-lc-rs")]
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        #[cfg(not(feature = "rustls-aws-lc-rs"))]
        let provider = rustls::crypto::ring::default_provider();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider))
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

#[cfg(not(all(feature = "__rustls", not(feature = "native-tls"))))]
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
