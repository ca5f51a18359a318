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
    state: PngState,
    has_data: bool,
}

#[derive(Default)]
enum PngState {
    #[default]
    Signature,
    FirstChunk,
    Chunk,
    AfterLast,
}

impl Format for Png {
    fn step(&mut self, field: &[u8]) -> Next {
        match self.state {
            PngState::Signature => {
                self.state = PngState::FirstChunk;
                Next::skip(SIGNATURE, CHUNK_HEAD)
            }
            PngState::AfterLast => Next::End(Extent::Complete),
            PngState::FirstChunk | PngState::Chunk => self.chunk(field),
        }
    }
}

impl Png {
    fn chunk(&mut self, head: &[u8]) -> Next {
        let Some((length, name)) = head.split_first_chunk() else { return Next::damaged() };
        let length = u32::from_be_bytes(*length);
        let must_be_first = matches!(self.state, PngState::FirstChunk);
        let is_valid = length <= LONGEST_CHUNK
            && name.iter().all(u8::is_ascii_alphabetic)
            && must_be_first == (name == b"IHDR")
            && (name != b"IEND" || self.has_data);
        if !is_valid {
            return Next::damaged();
        }
        self.has_data |= name == b"IDAT";
        let skip = u64::from(length) + CHECKSUM;
        if name == b"IEND" {
            self.state = PngState::AfterLast;
            return Next::skip(skip, 0);
        }
        self.state = PngState::Chunk;
        Next::skip(skip, CHUNK_HEAD)
    }
}
