//! TLS for requests to other servers.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{self, ClientConfig, pki_types::ServerName},
};
use url::Host;

/// TLS with the certificates that this machine trusts, which are loaded on first use.
#[derive(Default)]
pub(super) struct Tls {
    trusted: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Tls {
    #[cfg(test)]
    pub(super) fn with(client: ClientConfig) -> Self {
        Self { trusted: OnceLock::from(Ok(Arc::new(client))) }
    }

    /// Encrypts a connection to `host`.
    pub(super) async fn wrap(
        &self,
        host: &Host,
        connection: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        let trusted = self.trusted.get_or_init(|| {
            let trusted = trusted().map_err(|error| format!("no trusted certificates: {error}"))?;
            Ok(Arc::new(trusted))
        });
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone())
                .map_err(|_| "the host is not a valid TLS server name")?,
            Host::Ipv4(ip) => ServerName::from(IpAddr::from(*ip)),
            Host::Ipv6(ip) => ServerName::from(IpAddr::from(*ip)),
        };
        let connector = TlsConnector::from(trusted.clone()?);
        connector.connect(name, connection).await.map_err(|error| format!("TLS failed: {error}"))
    }
}

fn trusted() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}
