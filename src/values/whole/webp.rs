//! WebP: a RIFF container with the length of the file in its header.

use super::{
    Extent,
    scan::{Format, Step},
};

/// `RIFF`, the length of the rest, and `WEBP`.
const HEADER: usize = 12;
/// The length of a file with `WEBP` and one empty chunk.
const SHORTEST: u32 = 12;

#[derive(Default)]
pub(super) struct Webp {
    place: Place,
}

#[derive(Default)]
enum Place {
    #[default]
    Start,
    Header,
    End,
}

impl Format for Webp {
    fn step(&mut self, field: &[u8]) -> Step {
        match (&self.place, field) {
            (Place::Start, _) => {
                self.place = Place::Header;
                Step::read(HEADER)
            }
            (Place::Header, [_, _, _, _, a, b, c, d, ..]) => {
                let length = u32::from_le_bytes([*a, *b, *c, *d]);
                if length < SHORTEST {
                    return Step::damaged();
                }
                self.place = Place::End;
                Step::skip(u64::from(length - 4), 0)
            }
            _ => Step::End(Extent::Complete),
        }
    }
}
