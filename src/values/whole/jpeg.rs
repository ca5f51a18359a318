//! JPEG: markers of 0xff and a code. Most markers start a segment with a length; skipping segments
//! skips embedded thumbnails. The entropy-coded data of a scan follows its segment without a
//! length, and contains no markers except restarts.

use super::{
    Extent,
    scan::{Format, Next},
};

const MARKER: u8 = 0xff;
const STUFFED: u8 = 0x00;
const TEMPORARY: u8 = 0x01;
const FIRST_RESTART: u8 = 0xd0;
const LAST_RESTART: u8 = 0xd7;
const START_OF_IMAGE: u8 = 0xd8;
const END_OF_IMAGE: u8 = 0xd9;
const START_OF_SCAN: u8 = 0xda;

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

/// Continues with the code of the next marker. Decoders also skip stray bytes between segments.
fn find_marker(skip: u64) -> Next {
    Next::Find { skip, byte: MARKER, length: 1 }
}
