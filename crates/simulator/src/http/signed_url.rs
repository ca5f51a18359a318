//! Signs delivery URLs, and checks their signatures.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

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

    fn mac(&self, file: &str, expires: &str) -> Hmac<Sha256> {
        self.0.clone().chain_update(format!("{file}\n{expires}"))
    }

    pub(crate) fn sign(&self, file: &str, expires: &str) -> String {
        hex(&self.mac(file, expires).finalize().into_bytes())
    }

    pub(crate) fn verify(&self, file: &str, expires: &str, signature: &str) -> bool {
        let digits = (0..signature.len()).step_by(2).map(|start| signature.get(start..start + 2));
        let bytes = digits.map(|digits| u8::from_str_radix(digits?, 16).ok());
        let bytes = bytes.collect::<Option<Vec<_>>>().unwrap_or_default();
        self.mac(file, expires).verify_slice(&bytes).is_ok()
    }
}
