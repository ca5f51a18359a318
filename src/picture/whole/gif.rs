//! GIF: a header, then extensions and images, whose data lies in sub-blocks of up to 255 bytes, up
//! to the trailer.

use super::{
    Extent,
    scan::{Format, Step},
};

/// The signature and the screen descriptor.
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
                // After the extension's label.
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
                // After the size of the first LZW code.
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

/// The size of the color table that the flags announce.
fn color_table(flags: u8) -> u64 {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 0x07) + 1) }
}
