//! The regions of the service.

use serde::{Deserialize, Serialize};

/// One of the two base URLs of the service (`servers` in the contract). A task is known only to the
/// region that accepted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Region {
    /// The global base URL, [`ClientBuilder::base_url`](crate::ClientBuilder::base_url).
    Global,
    /// The regional base URL,
    /// [`ClientBuilder::regional_base_url`](crate::ClientBuilder::regional_base_url). It serves the
    /// operations whose [`Operation::regional`](crate::Operation::regional) is set.
    Regional,
}

/// The environment variable for the regional base URL.
pub const REGIONAL_BASE_URL_VARIABLE: &str = "IMAGEKILN_REGIONAL_BASE_URL";
