//! WebP: a RIFF container with the length of the file in its header.

use super::{
    Extent,
    scan::{Format, Next},
};

/// `RIFF`, the length of the rest, and `WEBP`.
const HEADER: usize = 12;
/// The length of a file with `WEBP` and one empty chunk.
const SHORTEST: u32 = 12;

#[derive(Default)]
pub(super) struct Webp {
    state: WebpState,
}

#[derive(Default)]
enum WebpState {
    #[default]
    Start,
    Header,
    End,
}

impl Format for Webp {
    fn step(&mut self, field: &[u8]) -> Next {
        match (&self.state, field) {
            (WebpState::Start, _) => {
                self.state = WebpState::Header;
                Next::read(HEADER)
            }
            (WebpState::Header, [_, _, _, _, a, b, c, d, ..]) => {
                let length = u32::from_le_bytes([*a, *b, *c, *d]);
                if length < SHORTEST {
                    return Next::damaged();
                }
                self.state = WebpState::End;
                Next::skip(u64::from(length - 4), 0)
            }
            _ => Next::End(Extent::Complete),
        }
    }
}
