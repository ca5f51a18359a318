//! PNG: a signature, followed by chunks with a length, a four-letter type, data and a checksum.
//! `IEND` is the last chunk.

use super::{
    Extent,
    scan::{Format, Next},
};

const SIGNATURE: u64 = 8;
const CHECKSUM: u64 = 4;
/// The length and the type of a chunk.
const CHUNK_HEAD: usize = 8;
/// The maximum length of a chunk.
const LONGEST_CHUNK: u32 = (1 << 31) - 1;

#[derive(Default)]
pub(super) struct Png {
    has_header: bool,
    has_data: bool,
}

impl Format for Png {
    fn start(&self) -> Next {
        Next::read(SIGNATURE, CHUNK_HEAD)
    }

    fn step(&mut self, head: &[u8]) -> Next {
        let Some((length, name)) = head.split_first_chunk() else {
            return Next::end(Extent::Damaged);
        };
        let length = u32::from_be_bytes(*length);
        let is_valid = length <= LONGEST_CHUNK
            && name.iter().all(u8::is_ascii_alphabetic)
            && self.has_header != (name == b"IHDR")
            && (name != b"IEND" || self.has_data);
        self.has_header = true;
        self.has_data |= name == b"IDAT";
        let skip = u64::from(length) + CHECKSUM;
        match name {
            _ if !is_valid => Next::end(Extent::Damaged),
            b"IEND" => Next::End { skip, extent: Extent::Complete },
            _ => Next::read(skip, CHUNK_HEAD),
        }
    }
}
