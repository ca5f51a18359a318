//! WebP: a RIFF container with the length of the file in its header.

use super::{
    Extent,
    scan::{Format, Next},
};

/// The length of `RIFF`.
const NAME: u64 = 4;
/// The length of a file with `WEBP` and one empty chunk, after the length itself.
const SHORTEST: u32 = 12;

pub(super) struct Webp;

impl Format for Webp {
    fn start(&self) -> Next {
        Next::read(NAME, size_of::<u32>())
    }

    fn step(&mut self, length: &[u8]) -> Next {
        match length.try_into().map_or(0, u32::from_le_bytes) {
            length @ SHORTEST.. => Next::End { skip: length.into(), extent: Extent::Complete },
            _ => Next::end(Extent::Damaged),
        }
    }
}
