//! The progress bar at the top edge, and the frames in which only the bar changes.
//!
//! These frames are encoded by hand (RFC 6386, sections 9 and 19): every block of 16 x 16 pixels
//! either stays as in the frame before, or, in the bar, takes the colours of its left neighbour's
//! right edge. No block contains pixels.

use image::{Rgba, RgbaImage};
use webp_rust::decoder::tree::COEFFS_UPDATE_PROBA;

use super::bool_coder::BoolCoder;

/// The side of a block in pixels.
const BLOCK: u32 = 16;

/// The minimum number of blocks in the bar. The deblocking filter changes the last one of a whole
/// frame, and the next frame copies from the first.
const MIN_REACH: u32 = 2;

const BAR: Rgba<u8> = Rgba([0xff, 0xb0, 0x3a, 0xff]);
const TROUGH: Rgba<u8> = Rgba([0x14, 0x16, 0x20, 0xff]);

/// The number of blocks in the bar in this frame of a second; in the last frame it is complete.
pub(super) fn reach(width: u32, frame: u32, fps: u32) -> u32 {
    let columns = width.div_ceil(BLOCK);
    (columns * (frame + 1) / fps.max(1)).max(MIN_REACH).min(columns)
}

/// Paints the bar on a whole frame.
pub(super) fn paint(picture: &mut RgbaImage, reach: u32) {
    for y in 0..BLOCK.min(picture.height()) {
        for x in 0..picture.width() {
            picture.put_pixel(x, y, if x / BLOCK < reach { BAR } else { TROUGH });
        }
    }
}

/// Probabilities in 256 of an event that is rare or usual.
const RARE: u8 = 1;
const USUAL: u8 = 255;

/// The probability that a block stays unchanged, by how many of its neighbours do: above and left
/// count 2 each, above left 1. This is the first column of a table in RFC 6386, section 18.3.
const STAYS: [u8; 6] = [7, 14, 135, 60, 159, 234];

/// The probabilities that a frame does not update those of motion vectors (RFC 6386, section 17.2).
const KEEPS_MOTION: [[u8; 19]; 2] = [
    [237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254],
    [231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254],
];

/// The frame that shows the same as the one before it, with a bar of `reach` blocks.
pub(super) fn frame_after(width: u32, height: u32, reach: u32) -> Vec<u8> {
    let mut coder = BoolCoder::new();
    put_header(&mut coder);
    let copies = |column: i64, row: i64| row == 0 && column >= 1 && column < i64::from(reach);
    for row in 0..i64::from(height.div_ceil(BLOCK)) {
        for column in 0..i64::from(width.div_ceil(BLOCK)) {
            coder.put(true, RARE); // without pixels
            if copies(column, row) {
                coder.put(false, RARE);
                put_copy_from_left(&mut coder);
            } else {
                coder.put(true, RARE);
                coder.put(false, USUAL); // from the frame before, not an older one
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

/// The header of a frame that changes no settings and uses no filter.
fn put_header(coder: &mut BoolCoder) {
    coder.put_number(0, 1); // no segments
    // The filter: type, strength, sharpness, no adjustments.
    coder.put_number(0, 1 + 6 + 3 + 1);
    coder.put_number(0, 2); // one partition of pixels
    coder.put_number(0, 7 + 5); // quantizers, all equal
    // The golden and the alternate frame and their signs stay unchanged.
    coder.put_number(0, 2 + 2 + 2 + 2);
    coder.put_number(1, 1); // keep the probabilities for the next frame
    coder.put_number(1, 1); // the next frame builds on this one
    for no_probability in COEFFS_UPDATE_PROBA.as_flattened().as_flattened().as_flattened() {
        coder.put(false, *no_probability);
    }
    coder.put_number(1, 1); // blocks can have no pixels
    coder.put_number(RARE.into(), 8); // the probability that a block has pixels,
    coder.put_number(RARE.into(), 8); // that it does not refer to an earlier frame,
    coder.put_number(USUAL.into(), 8); // that it refers to the frame before,
    coder.put_number(128, 8); // or to the golden frame instead of the alternate one
    // The probabilities of prediction modes stay unchanged, for luma and for chroma.
    coder.put_number(0, 2);
    for no_probability in KEEPS_MOTION.as_flattened() {
        coder.put(false, *no_probability);
    }
}

/// `H_PRED` for luma and chroma, with the trees and default probabilities of RFC 6386, section
/// 16.1.
fn put_copy_from_left(coder: &mut BoolCoder) {
    for (yes, no_probability) in
        [(true, 112), (false, 86), (true, 140), (true, 162), (true, 101), (false, 204)]
    {
        coder.put(yes, no_probability);
    }
}

/// The frame tag, the first partition, and a partition without pixels.
fn framed(first_partition: Vec<u8>) -> Vec<u8> {
    const BUILDS_ON_ANOTHER: u32 = 1;
    const IS_SHOWN: u32 = 1 << 4;
    let tag = BUILDS_ON_ANOTHER | IS_SHOWN | (first_partition.len() as u32) << 5;
    let mut frame = tag.to_le_bytes()[..3].to_vec();
    frame.extend(first_partition);
    frame.push(0);
    frame
}
