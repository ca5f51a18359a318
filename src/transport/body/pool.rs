//! A pool of buffers, which return when the HTTP client drops them.

use std::sync::{Arc, Mutex};

use base64::{Engine, encoded_len};
use bytes::Bytes;

use crate::values::base64_text::STANDARD;

/// Reuses buffers, because the allocator would return the pages of every large buffer to the
/// operating system and request them again.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Vec<u8>>>);

struct Pooled {
    buffer: Vec<u8>,
    length: usize,
    pool: Arc<Pool>,
}

impl Pool {
    pub(super) fn encode(self: &Arc<Self>, raw: &[u8]) -> Bytes {
        let kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let mut buffer = kept.unwrap_or_default();
        let needed = encoded_len(raw.len(), true).unwrap_or_default();
        if buffer.len() < needed {
            buffer.resize(needed, 0);
        }
        // The only possible error is a buffer that is too small, which the resize prevents.
        let length = STANDARD.encode_slice(raw, &mut buffer).unwrap_or_default();
        Bytes::from_owner(Pooled { buffer, length, pool: Arc::clone(self) })
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
