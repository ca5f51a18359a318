//! Signs delivery URLs, and checks their signatures.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::runtime::chance::{Chance, hex};

/// The response to an expired delivery URL.
pub(crate) const EXPIRED: &str = "The delivery URL has expired";

/// Signs delivery URLs.
pub(crate) struct Signer {
    key: [u8; 64],
}

impl Signer {
    pub(crate) fn new(chance: Chance) -> Self {
        let mut key = [0; 64];
        for (number, part) in (0..).zip(key.chunks_exact_mut(32)) {
            part.copy_from_slice(&chance.bytes("delivery signature", number));
        }
        Self { key }
    }

    fn mac(&self, file: &str, expires: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.key.into());
        mac.update(file.as_bytes());
        mac.update(b"\n");
        mac.update(expires.as_bytes());
        mac
    }

    pub(crate) fn sign(&self, file: &str, expires: &str) -> String {
        hex(&self.mac(file, expires).finalize().into_bytes())
    }

    pub(crate) fn verify(&self, file: &str, expires: &str, signature: &str) -> bool {
        let digits = signature.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
            u8::from_str_radix(pair, 16).ok()
        });
        let Some(signature) = digits.collect::<Option<Vec<u8>>>() else {
            return false;
        };
        self.mac(file, expires).verify_slice(&signature).is_ok()
    }
}
