//! The bar at the upper edge that grows from second to second, and the frames in which nothing else
//! changes.
//!
//! Such a frame is written by hand (RFC 6386, sections 9 and 19): every block of 16 x 16 pixels
//! either stays as it was in the frame before, or, in the bar, takes the colours of its left
//! neighbour's right edge. No block carries pixels.

use image::{Rgb, RgbImage};
use webp_rust::decoder::tree::COEFFS_UPDATE_PROBA;

use super::bool_coder::BoolCoder;

/// The side of a block in pixels.
const BLOCK: u32 = 16;

/// The least blocks of the bar, where there are so many: the filter at the edges of blocks reaches
/// into the last one of a whole frame, and the next frame copies from the first.
const MIN_REACH: u32 = 2;

const BAR: Rgb<u8> = Rgb([0xff, 0xb0, 0x3a]);
const TROUGH: Rgb<u8> = Rgb([0x14, 0x16, 0x20]);

/// How many blocks the bar has in this frame of a second: in its last frame all of them.
pub(super) fn reach(width: u32, frame: u32, fps: u32) -> u32 {
    let columns = width.div_ceil(BLOCK);
    (columns * (frame + 1) / fps.max(1)).max(MIN_REACH).min(columns)
}

/// Paints the bar on a whole frame.
pub(super) fn paint(picture: &mut RgbImage, reach: u32) {
    for y in 0..BLOCK.min(picture.height()) {
        for x in 0..picture.width() {
            picture.put_pixel(x, y, if x / BLOCK < reach { BAR } else { TROUGH });
        }
    }
}

/// Probabilities in 256, of what hardly ever is and of what almost always is.
const RARE: u8 = 1;
const USUAL: u8 = 255;

/// How likely a block is to stay as it was, by how many of its neighbours do: above and left count
/// 2 each, above left 1. This is the first column of a table of RFC 6386, section 18.3.
const STAYS: [u8; 6] = [7, 14, 135, 60, 159, 234];

/// The probabilities that a frame leaves those of motion vectors as they are (RFC 6386, section
/// 17.2).
const KEEPS_MOTION: [[u8; 19]; 2] = [
    [237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254],
    [231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254],
];

/// The frame that shows what the one before it shows, with a bar of `reach` blocks.
pub(super) fn frame_after(width: u32, height: u32, reach: u32) -> Vec<u8> {
    let mut coder = BoolCoder::new();
    put_header(&mut coder);
    let copies = |column: i64, row: i64| row == 0 && column >= 1 && column < i64::from(reach);
    for row in 0..i64::from(height.div_ceil(BLOCK)) {
        for column in 0..i64::from(width.div_ceil(BLOCK)) {
            coder.put(true, RARE); // it carries no pixels
            if copies(column, row) {
                coder.put(false, RARE);
                put_copy_from_left(&mut coder);
            } else {
                coder.put(true, RARE);
                coder.put(false, USUAL); // the frame before, and not an older one
                let still = |column, row| column >= 0 && row >= 0 && !copies(column, row);
                let neighbours = 2 * usize::from(still(column, row - 1))
                    + 2 * usize::from(still(column - 1, row))
                    + usize::from(still(column - 1, row - 1));
                coder.put(false, STAYS[neighbours]);
            }
        }
    }
    framed(coder.finish())
}

/// The header of a frame that changes no setting and filters nothing.
fn put_header(coder: &mut BoolCoder) {
    coder.put_number(0, 1); // no segments
    coder.put_number(0, 1 + 6 + 3 + 1); // the filter: its type, strength and sharpness, and no adjustments
    coder.put_number(0, 2); // one partition of pixels
    coder.put_number(0, 7 + 5); // quantizers, without differences among them
    coder.put_number(0, 2 + 2 + 2 + 2); // the golden and the alternate frame stay as they are, with their signs
    coder.put_number(1, 1); // probabilities stay for the next frame
    coder.put_number(1, 1); // the next frame builds on this one
    for no_probability in COEFFS_UPDATE_PROBA.as_flattened().as_flattened().as_flattened() {
        coder.put(false, *no_probability);
    }
    coder.put_number(1, 1); // blocks can be without pixels
    coder.put_number(RARE.into(), 8); // how likely one is with pixels,
    coder.put_number(RARE.into(), 8); // one that does not build on an earlier frame,
    coder.put_number(USUAL.into(), 8); // and one that builds on the frame before,
    coder.put_number(128, 8); // or on the golden one rather than the alternate
    coder.put_number(0, 2); // the probabilities of ways to predict stay, those of brightness and those of colour
    for no_probability in KEEPS_MOTION.as_flattened() {
        coder.put(false, *no_probability);
    }
}

/// `H_PRED`, for brightness and for colour, in the trees and with the default probabilities of RFC
/// 6386, section 16.1.
fn put_copy_from_left(coder: &mut BoolCoder) {
    for (yes, no_probability) in
        [(true, 112), (false, 86), (true, 140), (true, 162), (true, 101), (false, 204)]
    {
        coder.put(yes, no_probability);
    }
}

/// The frame tag before the first partition, and a partition without pixels behind it.
fn framed(first_partition: Vec<u8>) -> Vec<u8> {
    const BUILDS_ON_ANOTHER: u32 = 1;
    const IS_SHOWN: u32 = 1 << 4;
    let tag = BUILDS_ON_ANOTHER | IS_SHOWN | (first_partition.len() as u32) << 5;
    let mut frame = tag.to_le_bytes()[..3].to_vec();
    frame.extend(first_partition);
    frame.push(0);
    frame
}
