//! The keys of a verifier, and constant-time comparison of signatures.

use hmac::{Hmac, KeyInit, Mac, digest::CtOutput};
use sha2::Sha256;

/// The length of a signature, in bytes.
pub(super) const SIGNATURE: usize = 32;

/// HMAC-SHA256 keyed by a secret.
#[derive(Clone)]
pub(super) struct Key(Hmac<Sha256>);

/// A signature. Comparisons take constant time.
pub(super) type Signature = CtOutput<Hmac<Sha256>>;

impl Key {
    /// Returns `None` if HMAC refuses the key, which never happens: it accepts keys of any length.
    pub(super) fn new(secret: &[u8]) -> Option<Self> {
        Hmac::new_from_slice(secret).ok().map(Self)
    }

    /// Signs the concatenation of the parts.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> Signature {
        parts.iter().fold(self.0.clone(), Mac::chain_update).finalize()
    }
}

/// Whether any of the signatures matches any of the keys. Compares every pair, so the duration does
/// not reveal which one matched.
pub(super) fn any_matches(keys: &[Key], parts: &[&[u8]], signatures: &[[u8; SIGNATURE]]) -> bool {
    keys.iter().fold(false, |found, key| {
        let expected = key.sign(parts);
        signatures
            .iter()
            .fold(found, |found, given| found | (expected == Signature::new((*given).into())))
    })
}
