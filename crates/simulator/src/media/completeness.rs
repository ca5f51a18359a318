//! Whether the file of an image is complete.

use image::ImageFormat;

/// Whether a file is complete. Decoders tolerate a missing end: they fill pixels with grey and skip
/// checksums.
pub(super) fn is_whole(format: ImageFormat, bytes: &[u8]) -> bool {
    match format {
        ImageFormat::Jpeg => jpeg_ends(bytes),
        ImageFormat::Png => png_ends(bytes),
        _ => riff_ends(bytes),
    }
}

/// Whether a webp has the length in its header.
fn riff_ends(bytes: &[u8]) -> bool {
    let Some(&[a, b, c, d]) = bytes.get(4..8) else { return false };
    bytes.len() as u64 >= u64::from(u32::from_le_bytes([a, b, c, d])) + 8
}

/// Whether a png has its last chunk, with its checksum.
fn png_ends(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|chunk| chunk == b"IEND\xae\x42\x60\x82")
}

/// Whether a jpeg has its end marker.
fn jpeg_ends(bytes: &[u8]) -> bool {
    let mut at = 2;
    while let Some(marker) = bytes.get(at..at + 2) {
        match marker {
            [0xff, 0xd9] => return true,
            // Fill bytes, and markers without a segment.
            [0xff, 0xff] => at += 1,
            [0xff, 0x01 | 0xd0..=0xd8] => at += 2,
            [0xff, kind] => {
                let Some(&[high, low]) = bytes.get(at + 2..at + 4) else {
                    return false;
                };
                at += 2 + usize::from(u16::from_be_bytes([high, low])).max(2);
                if *kind == 0xda {
                    // Image data follows, up to a marker that is neither an escaped 0xff nor a
                    // restart.
                    let Some(data) = bytes.get(at..) else { return false };
                    let end = data.windows(2).position(
                        |pair| matches!(pair, [0xff, next] if !matches!(next, 0 | 0xd0..=0xd7)),
                    );
                    let Some(end) = end else { return false };
                    at += end;
                }
            }
            _ => return false,
        }
    }
    false
}
