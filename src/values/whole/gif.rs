//! GIF: a header, followed by extensions and images with data in sub-blocks of up to 255 bytes, and
//! a trailer.

use super::{
    Extent,
    scan::{Format, Step},
};

/// The signature and the logical screen descriptor.
const HEADER: usize = 13;
const IMAGE_DESCRIPTOR: usize = 9;

const EXTENSION: u8 = 0x21;
const IMAGE: u8 = 0x2c;
const TRAILER: u8 = 0x3b;

#[derive(Default)]
pub(super) struct Gif {
    place: Place,
    has_image: bool,
}

#[derive(Default)]
enum Place {
    #[default]
    Start,
    Header,
    Block,
    ImageDescriptor,
    SubBlock,
}

impl Format for Gif {
    fn step(&mut self, field: &[u8]) -> Step {
        match (&self.place, field) {
            (Place::Start, _) => {
                self.place = Place::Header;
                Step::read(HEADER)
            }
            (Place::Header, [.., flags, _background, _aspect]) => {
                self.place = Place::Block;
                Step::skip(color_table(*flags), 1)
            }
            (Place::Block, [EXTENSION]) => {
                self.place = Place::SubBlock;
                // Skip the label of the extension.
                Step::skip(1, 1)
            }
            (Place::Block, [IMAGE]) => {
                self.place = Place::ImageDescriptor;
                Step::read(IMAGE_DESCRIPTOR)
            }
            (Place::Block, [TRAILER]) if self.has_image => Step::End(Extent::Complete),
            (Place::ImageDescriptor, [.., flags]) => {
                self.has_image = true;
                self.place = Place::SubBlock;
                // Skip the color table and the minimum LZW code size.
                Step::skip(color_table(*flags) + 1, 1)
            }
            (Place::SubBlock, [0]) => {
                self.place = Place::Block;
                Step::read(1)
            }
            (Place::SubBlock, [length]) => Step::skip((*length).into(), 1),
            _ => Step::damaged(),
        }
    }
}

/// Returns the size of the color table described by the flags.
fn color_table(flags: u8) -> u64 {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 0x07) + 1) }
}
