//! The account that pays for a submission: the service that received it, and the API key.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

/// The service and the API key of a submission.
///
/// Each record contains the account, so that a client can tell whether it may continue the task.
/// Only the service that accepted a task knows the task, and the client must not send its API key
/// to any other service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The base URL without user information.
    service: String,
    /// Random, so that two records of one key have different fingerprints.
    salt: u32,
    /// The first 32 bits of the SHA-256 digest of the salt and the key. They are enough to compare
    /// keys, and too few to recover the key.
    key: u32,
}

impl Account {
    pub(crate) fn new(service: &Url, key: &[u8]) -> Self {
        let salt = fastrand::u32(..);
        Self { service: service.to_string(), salt, key: fingerprint(salt, key) }
    }

    /// Returns the base URL that the submission was sent to.
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    pub(crate) fn has_key(&self, key: &[u8]) -> bool {
        self.key == fingerprint(self.salt, key)
    }
}

fn fingerprint(salt: u32, key: &[u8]) -> u32 {
    let digest = Sha256::new().chain_update(salt.to_be_bytes()).chain_update(key).finalize();
    digest.iter().take(4).fold(0, |bits, byte| bits << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_knows_its_key_without_containing_it() {
        let service = Url::parse("https://api.example.com").unwrap();
        let account = Account::new(&service, b"key-of-anna");
        assert!(account.has_key(b"key-of-anna"));
        assert!(!account.has_key(b"key-of-berta"));
        let text = serde_json::to_string(&account).unwrap();
        assert!(!text.contains("anna"), "{text}");
        assert_eq!(serde_json::from_str::<Account>(&text).unwrap(), account);
        assert_ne!(Account::new(&service, b"key-of-anna"), account, "the salt differs");
    }
}
