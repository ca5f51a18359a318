use serde::{Deserialize, Serialize};

/// One of the two addresses of the service (servers of the contract). A task is known only at the
/// address that took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Region {
    /// The service's address, [`ClientBuilder::base_url`](crate::ClientBuilder::base_url).
    Global,
    /// The regional address,
    /// [`ClientBuilder::regional_base_url`](crate::ClientBuilder::regional_base_url), which serves
    /// the operations whose [`Operation::regional`](crate::Operation::regional) is set.
    Regional,
}
