//! The setting for TLS.

use std::path::PathBuf;

use serde::Deserialize;

/// The files with which the service is served over TLS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificates in PEM, the simulator's own first.
    pub certificate: PathBuf,
    /// The private key in PEM. Without it, `certificate` contains both. If that file does not exist
    /// either, the simulator writes a new key to it, with a certificate for `localhost` and the
    /// hosts of the public URLs that this key has signed itself.
    pub key: Option<PathBuf>,
}
