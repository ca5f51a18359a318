//! The TLS back end, chosen by Cargo features and handed to the HTTP client ready-made: no process-wide state is
//! touched, and no panic waits for a provider that nobody installed.

use reqwest::ClientBuilder;

/// Precedence where several features are on: the system's library, aws-lc-rs, ring.
#[cfg(feature = "native-tls")]
pub(crate) fn configure(builder: ClientBuilder) -> Result<ClientBuilder, String> {
    Ok(builder.tls_backend_native())
}

#[cfg(all(feature = "__rustls", not(feature = "native-tls")))]
pub(crate) fn configure(builder: ClientBuilder) -> Result<ClientBuilder, String> {
    use std::sync::Arc;

    use rustls_platform_verifier::BuilderVerifierExt;

    #[cfg(feature = "rustls-aws-lc-rs")]
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    #[cfg(not(feature = "rustls-aws-lc-rs"))]
    let provider = rustls::crypto::ring::default_provider();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_platform_verifier())
        .map_err(|error| error.to_string())?
        .with_no_client_auth();
    let mut config = config;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(builder.tls_backend_preconfigured(config))
}

/// Without a back end only `http://` bases work: a simulator, a proxy on the same machine.
#[cfg(not(any(feature = "native-tls", feature = "__rustls")))]
pub(crate) fn configure(builder: ClientBuilder) -> Result<ClientBuilder, String> {
    Ok(builder)
}
