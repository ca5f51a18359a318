//! Signs delivery URLs, and checks their signatures.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::runtime::chance::{Chance, hex};

/// The detail of the response to a delivery URL that has expired.
pub(crate) const EXPIRED: &str = "The delivery URL has expired";

/// Signs delivery URLs, and verifies their signatures.
pub(crate) struct Signer(Hmac<Sha256>);

impl Signer {
    pub(crate) fn new(chance: Chance) -> Self {
        let mut key = [0; 64];
        for (number, part) in (0..).zip(key.chunks_exact_mut(32)) {
            part.copy_from_slice(&chance.bytes("delivery signature", number));
        }
        Self(Hmac::new(&key.into()))
    }

    pub(crate) fn sign(&self, file: &str, expires: &str) -> String {
        let mac = self.0.clone().chain_update(format!("{file}\n{expires}"));
        hex(&mac.finalize().into_bytes())
    }

    /// Compares digests, so that the time of the comparison reveals nothing about the signature.
    pub(crate) fn verify(&self, file: &str, expires: &str, signature: &str) -> bool {
        Sha256::digest(signature) == Sha256::digest(self.sign(file, expires))
    }
}
