//! A pool of buffers, which return when the HTTP client drops them.

use std::sync::{Arc, Mutex};

use base64::{Engine, encoded_len};

use crate::values::base64_text::STANDARD;

/// Reuses buffers, because the allocator would return the pages of every large buffer to the
/// operating system and request them again.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Vec<u8>>>);

/// A buffer with base64, which returns to its pool when it is dropped.
pub(super) struct Pooled {
    buffer: Vec<u8>,
    length: usize,
    pool: Arc<Pool>,
}

impl Pool {
    /// Returns an empty buffer.
    pub(super) fn buffer(self: &Arc<Self>) -> Pooled {
        let kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        Pooled { buffer: kept.unwrap_or_default(), length: 0, pool: Arc::clone(self) }
    }
}

impl Pooled {
    /// Appends the base64 of `raw`. All pieces but the last must have a multiple of 3 bytes.
    pub(super) fn encode(&mut self, raw: &[u8]) {
        let needed = self.length + encoded_len(raw.len(), true).unwrap_or_default();
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        // The only possible error is a buffer that is too small, which the resize prevents.
        let room = self.buffer.get_mut(self.length..).unwrap_or_default();
        self.length += STANDARD.encode_slice(raw, room).unwrap_or_default();
    }
}

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let mut kept = self.pool.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.push(std::mem::take(&mut self.buffer));
    }
}
