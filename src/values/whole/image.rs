//! The structures of images: JPEG, PNG and WebP.

use super::{Extent, Format, Next};

const MARKER: u8 = 0xff;
const STUFFED: u8 = 0x00;
const TEMPORARY: u8 = 0x01;
const FIRST_RESTART: u8 = 0xd0;
const LAST_RESTART: u8 = 0xd7;
const START_OF_IMAGE: u8 = 0xd8;
const END_OF_IMAGE: u8 = 0xd9;
const START_OF_SCAN: u8 = 0xda;

/// JPEG: a sequence of markers, each consisting of 0xff and a code. Most markers start a segment
/// with a length. Skipping whole segments also skips embedded thumbnails, which have end markers of
/// their own. The entropy-coded data of a scan follows its segment without a length, and contains
/// no markers except restarts.
#[derive(Default)]
pub(super) struct Jpeg {
    has_scan: bool,
}

impl Format for Jpeg {
    fn start(&self) -> Next {
        find_marker(2)
    }

    fn step(&mut self, field: &[u8]) -> Next {
        match field {
            // Any number of fill bytes may precede the code.
            [MARKER] => Next::read(0, 1),
            [STUFFED | TEMPORARY | FIRST_RESTART..=LAST_RESTART] => find_marker(0),
            [END_OF_IMAGE] if self.has_scan => Next::end(Extent::Complete),
            [START_OF_IMAGE | END_OF_IMAGE] => Next::end(Extent::Damaged),
            [code] => {
                self.has_scan |= *code == START_OF_SCAN;
                Next::read(0, 2)
            }
            [high, low] => match u16::from_be_bytes([*high, *low]).checked_sub(2) {
                Some(length) => find_marker(length.into()),
                None => Next::end(Extent::Damaged),
            },
            _ => Next::end(Extent::Damaged),
        }
    }
}

/// Skips to the code of the next marker. Skips stray bytes between segments, like decoders.
fn find_marker(skip: u64) -> Next {
    Next::Find { skip, byte: MARKER, length: 1 }
}

const PNG_SIGNATURE: u64 = 8;
const CHUNK_CHECKSUM: u64 = 4;
/// The length and the type of a chunk.
const CHUNK_HEAD: usize = 8;
/// The maximum length of a chunk.
const LONGEST_CHUNK: u32 = (1 << 31) - 1;

/// PNG: a signature, followed by chunks with a length, a four-letter type, data and a checksum.
/// `IEND` is the last chunk.
#[derive(Default)]
pub(super) struct Png {
    has_header: bool,
    has_data: bool,
}

impl Format for Png {
    fn start(&self) -> Next {
        Next::read(PNG_SIGNATURE, CHUNK_HEAD)
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
        let skip = u64::from(length) + CHUNK_CHECKSUM;
        match name {
            _ if !is_valid => Next::end(Extent::Damaged),
            b"IEND" => Next::End { skip, extent: Extent::Complete },
            _ => Next::read(skip, CHUNK_HEAD),
        }
    }
}

/// The length of `RIFF`.
const RIFF_NAME: u64 = 4;
/// The smallest valid length in the header: of `WEBP` and one empty chunk.
const SHORTEST_WEBP: u32 = 12;

/// WebP: a RIFF container, whose header contains the length of the file.
pub(super) struct Webp;

impl Format for Webp {
    fn start(&self) -> Next {
        Next::read(RIFF_NAME, size_of::<u32>())
    }

    fn step(&mut self, length: &[u8]) -> Next {
        match length.try_into().map_or(0, u32::from_le_bytes) {
            length @ SHORTEST_WEBP.. => Next::End { skip: length.into(), extent: Extent::Complete },
            _ => Next::end(Extent::Damaged),
        }
    }
}
