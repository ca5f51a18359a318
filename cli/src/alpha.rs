//! Detects whether an image may have an alpha channel. Only its header is read.

use std::{fs::File, io::Read, path::Path};

use imagekiln::{FileKind, ImageInput};

/// The number of bytes that are read. The color profile of a PNG comes before its `tRNS` chunk.
const HEAD: u64 = 256 * 1024;

/// Returns `false` only if the image certainly has no alpha channel. May block.
pub fn may_have_alpha_channel(image: &ImageInput) -> bool {
    match image {
        ImageInput::Path(path) => head(path).is_none_or(|head| may_have(&head)),
        ImageInput::Bytes(bytes) => may_have(bytes),
        _ => true,
    }
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    Some(head)
}

fn may_have(bytes: &[u8]) -> bool {
    match FileKind::of(bytes) {
        Some(FileKind::Jpeg) => false,
        Some(FileKind::Png) => png(bytes).unwrap_or(true),
        Some(FileKind::Webp) => webp(bytes).unwrap_or(true),
        _ => true,
    }
}

/// The color type, or a transparent color before the pixels. `None` if the head is too short.
fn png(bytes: &[u8]) -> Option<bool> {
    const WITH_ALPHA: [u8; 2] = [4, 6];
    if WITH_ALPHA.contains(bytes.get(25)?) {
        return Some(true);
    }
    let mut chunks = bytes.get(33..)?;
    loop {
        let (length, rest) = chunks.split_first_chunk()?;
        match rest.get(..4)? {
            b"tRNS" => return Some(true),
            b"IDAT" => return Some(false),
            _ => {}
        }
        // The name, the data and the checksum.
        let skipped = usize::try_from(u32::from_be_bytes(*length)).ok()?.checked_add(8)?;
        chunks = rest.get(skipped..)?;
    }
}

/// A flag in the header of the extended and of the lossless format.
fn webp(bytes: &[u8]) -> Option<bool> {
    const ALPHA: u8 = 0x10;
    let at = match bytes.get(12..16)? {
        b"VP8 " => return Some(false),
        b"VP8X" => 20,
        b"VP8L" => 24,
        _ => return None,
    };
    Some(bytes.get(at)? & ALPHA != 0)
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat, Rgb, RgbImage, RgbaImage};

    use super::*;
    use imagekiln_testbed::picture::encoded;

    fn opaque() -> DynamicImage {
        RgbImage::from_pixel(8, 8, Rgb([1, 2, 3])).into()
    }

    #[test]
    fn the_header_tells_whether_there_is_an_alpha_channel() {
        let clear: DynamicImage = RgbaImage::new(8, 8).into();
        for format in [ImageFormat::Png, ImageFormat::WebP] {
            assert!(may_have(&encoded(clear.clone(), format)), "{format:?}");
            assert!(!may_have(&encoded(opaque(), format)), "{format:?}");
        }
        assert!(!may_have(&encoded(opaque(), ImageFormat::Jpeg)));
        assert!(may_have(b"GIF89a"), "it may have a transparent color");
        assert!(may_have(b"not an image"), "the check of the request reports it");
    }

    #[test]
    fn a_transparent_color_counts() {
        let png = encoded(opaque(), ImageFormat::Png);
        let transparent =
            [&png[..33], b"\0\0\0\x06tRNS\0\x01\0\x02\0\x03sums", &png[33..]].concat();
        assert!(may_have(&transparent));
    }

    #[test]
    fn no_head_is_too_short() {
        let png = encoded(opaque(), ImageFormat::Png);
        let webp = encoded(opaque(), ImageFormat::WebP);
        for length in 0..40 {
            assert!(may_have(&png[..length]));
            may_have(&webp[..length.min(webp.len())]);
        }
        let endless = [&png[..33], b"\xff\xff\xff\xffzTXt", &png[33..]].concat();
        assert!(may_have(&endless));
    }
}
