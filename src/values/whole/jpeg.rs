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
    state: JpegState,
    has_scan: bool,
}

#[derive(Default)]
enum JpegState {
    #[default]
    Start,
    Code,
    Length,
    Segment,
}

impl Format for Jpeg {
    fn step(&mut self, field: &[u8]) -> Next {
        match (&self.state, field) {
            (JpegState::Start, _) => {
                self.state = JpegState::Segment;
                Next::skip(2, 0)
            }
            // Decoders also skip stray bytes between segments.
            (JpegState::Segment, _) => self.find_marker(),
            (JpegState::Code, [code]) => self.marker(*code),
            (JpegState::Length, [high, low]) => {
                match u16::from_be_bytes([*high, *low]).checked_sub(2) {
                    Some(length) => {
                        self.state = JpegState::Segment;
                        Next::skip(length.into(), 0)
                    }
                    None => Next::damaged(),
                }
            }
            _ => Next::damaged(),
        }
    }
}

impl Jpeg {
    fn find_marker(&mut self) -> Next {
        self.state = JpegState::Code;
        Next::Find { byte: MARKER, length: 1 }
    }

    fn marker(&mut self, code: u8) -> Next {
        match code {
            // Any number of fill bytes may precede the code.
            MARKER => Next::read(1),
            STUFFED | TEMPORARY | FIRST_RESTART..=LAST_RESTART => self.find_marker(),
            END_OF_IMAGE if self.has_scan => Next::End(Extent::Complete),
            START_OF_IMAGE | END_OF_IMAGE => Next::damaged(),
            code => {
                self.has_scan |= code == START_OF_SCAN;
                self.state = JpegState::Length;
                Next::read(2)
            }
        }
    }
}
