//! The keys of a verifier, and the comparison with a signature.

use hmac::{Hmac, KeyInit, Mac, digest::CtOutput};
use sha2::Sha256;

/// The length of a signature, in bytes.
pub(super) const SIGNATURE: usize = 32;

/// HMAC-SHA256 keyed by a secret.
#[derive(Clone)]
pub(super) struct Key(Hmac<Sha256>);

/// A signature. Comparing two takes the same time whatever they are.
pub(super) type Signature = CtOutput<Hmac<Sha256>>;

impl Key {
    /// HMAC takes keys of every length. Were there one that it refuses, nothing would be signed
    /// with it.
    pub(super) fn new(secret: &[u8]) -> Option<Self> {
        Hmac::new_from_slice(secret).ok().map(Self)
    }

    /// The signature of the parts, one after another.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> Signature {
        parts.iter().fold(self.0.clone(), Mac::chain_update).finalize()
    }
}

/// Whether one of the signatures is that of one of the keys. Every pair is compared, so the time
/// does not tell which.
pub(super) fn any_matches(keys: &[Key], parts: &[&[u8]], signatures: &[[u8; SIGNATURE]]) -> bool {
    keys.iter().fold(false, |found, key| {
        let expected = key.sign(parts);
        signatures
            .iter()
            .fold(found, |found, given| found | (expected == Signature::new((*given).into())))
    })
}
