//! Random values, all of which are derived from one configured seed.

use sha2::{Digest, Sha256};

/// Draws random values. A value depends only on the configured seed, its purpose, and the number of
/// the draw.
#[derive(Clone, Copy)]
pub(crate) struct Chance {
    seed: u64,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns 32 random bytes for draw `number` of `purpose`.
    pub(crate) fn bytes(self, purpose: &str, number: u64) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_be_bytes());
        hash.update(number.to_be_bytes());
        hash.update(purpose.as_bytes());
        hash.finalize().into()
    }

    /// Returns a random number from 0 up to, but not including, 1.
    pub(crate) fn fraction(self, purpose: &str, number: u64) -> f64 {
        f64::from(self.integer(purpose, number)) / (f64::from(u32::MAX) + 1.0)
    }

    /// Returns a task id, which has the form of a version 4 UUID.
    pub(crate) fn task_id(self, number: u64) -> String {
        let mut id = self.bytes("task id", number);
        id[6] = id[6] & 0x0f | 0x40;
        id[8] = id[8] & 0x3f | 0x80;
        let hex = hex(&id[..16]);
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Returns the seed of a picture whose request does not set one.
    pub(crate) fn picture_seed(self, number: u64) -> u32 {
        self.integer("picture seed", number)
    }

    fn integer(self, purpose: &str, number: u64) -> u32 {
        let [a, b, c, d, ..] = self.bytes(purpose, number);
        u32::from_be_bytes([a, b, c, d])
    }
}

/// Formats bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
