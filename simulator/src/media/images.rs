//! Images in requests, as base64 or URL.

use std::{io::Cursor, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{
    DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, ImageResult, Limits, RgbaImage,
};
use url::Url;

/// Four channels of 16 bits.
const MAX_PIXEL_BYTES: u64 = 8;

/// The maximum memory for a file's metadata.
const MAX_METADATA_BYTES: u64 = 16 << 20;

/// An image of a request, and its location.
#[derive(Clone)]
pub(crate) struct Input {
    /// Names and indices joined by dots: `input_image_2`, `keyframes.0`.
    pub(crate) place: String,
    pub(crate) is_mask: bool,
    pub(crate) image: Image,
}

/// An image of a request.
#[derive(Clone)]
pub(crate) enum Image {
    Inline(Inline),
    /// Given by its URL, of which only the host is kept. It is not fetched.
    Elsewhere(String),
}

/// An image whose bytes are in the request.
#[derive(Clone)]
pub(crate) struct Inline {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) format: ImageFormat,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Inline {
    /// The stored pixels, with eight bits per channel. Exif orientation and colour profiles are
    /// ignored.
    pub(crate) fn decode(&self) -> ImageResult<RgbaImage> {
        decoded(&self.bytes, self.format, self.pixels()).map(DynamicImage::into_rgba8)
    }

    pub(crate) fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Whether the file has an alpha channel.
    pub(crate) fn has_alpha(&self) -> bool {
        let decoder = reader(&self.bytes, self.format, self.pixels()).into_decoder();
        decoder.is_ok_and(|decoder| decoder.color_type().has_alpha())
    }
}

impl Image {
    /// The text that replaces the image in the log.
    pub(crate) fn summary(&self) -> String {
        match self {
            Self::Inline(image) => format!(
                "[{} of {} x {} pixels, {} bytes]",
                image.format.to_mime_type(),
                image.width,
                image.height,
                image.bytes.len()
            ),
            Self::Elsewhere(host) => format!("[an image at {host}, not fetched]"),
        }
    }
}

/// Parses an image field. The error does not quote the field.
pub(crate) fn read(text: &str, takes_address: bool, max_pixels: u64) -> Result<Image, String> {
    if let Some(host) = host(text) {
        return match takes_address {
            true => Ok(Image::Elsewhere(host)),
            false => Err("the field accepts base64 data, not a URL".to_owned()),
        };
    }
    let bytes = STANDARD
        .decode(payload(text))
        .map_err(|error| format!("the image is not valid base64: {error}"))?;
    decode(bytes, max_pixels).map(Image::Inline)
}

/// Whether a field that the contract does not list seems to contain an image.
pub(crate) fn seems_image(text: &str) -> bool {
    let head: Vec<u8> = payload(text).bytes().take(16).collect();
    head.len() == 16 && STANDARD.decode(head).is_ok_and(|head| format_of(&head).is_some())
}

/// The data without the prefix of a `data:` URL.
fn payload(text: &str) -> &str {
    match text.split_once(";base64,") {
        Some((head, data)) if head.len() < 64 && head.starts_with("data:image/") => data,
        _ => text,
    }
}

/// The host of an `http` or `https` URL.
pub(crate) fn host(text: &str) -> Option<String> {
    let scheme = text.get(..8)?.to_ascii_lowercase();
    if !scheme.starts_with("http://") && scheme != "https://" {
        return None;
    }
    Url::parse(text).ok()?.host_str().map(str::to_owned)
}

fn format_of(bytes: &[u8]) -> Option<ImageFormat> {
    let format = image::guess_format(bytes).ok()?;
    [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP].contains(&format).then_some(format)
}

/// Checks the size, then decodes the complete image once to detect truncation.
pub(crate) fn decode(bytes: Vec<u8>, max_pixels: u64) -> Result<Inline, String> {
    let format = format_of(&bytes).ok_or("the data is not a jpeg, png or webp image")?;
    let undecodable = |error: image::ImageError| format!("could not decode the image: {error}");
    let (width, height) = reader(&bytes, format, 0).into_dimensions().map_err(undecodable)?;
    let pixels = u64::from(width) * u64::from(height);
    if pixels > max_pixels {
        return Err(format!(
            "the image of {width} x {height} pixels exceeds the limit of {max_pixels} pixels"
        ));
    }
    decoded(&bytes, format, pixels).map_err(undecodable)?;
    if !is_whole(format, &bytes) {
        return Err("could not decode the image: it is truncated".to_owned());
    }
    Ok(Inline { bytes: bytes.into(), format, width, height })
}

fn decoded(bytes: &[u8], format: ImageFormat, pixels: u64) -> ImageResult<DynamicImage> {
    reader(bytes, format, pixels).decode()
}

/// A reader that fails if a file takes much more memory than its pixels need, because compressed
/// text and colour profiles can expand to any size.
fn reader(bytes: &[u8], format: ImageFormat, pixels: u64) -> ImageReader<Cursor<&[u8]>> {
    let mut limits = Limits::default();
    limits.max_alloc =
        Some(pixels.saturating_mul(MAX_PIXEL_BYTES).saturating_add(MAX_METADATA_BYTES));
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    reader
}

/// Whether a file is complete. Decoders tolerate a missing end: they fill pixels with grey and skip
/// checksums.
fn is_whole(format: ImageFormat, bytes: &[u8]) -> bool {
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

/// Whether a png has its last chunk.
fn png_ends(bytes: &[u8]) -> bool {
    let mut at: usize = 8;
    while let Some(&[a, b, c, d, ref kind @ ..]) = bytes.get(at..at.saturating_add(8)) {
        // Length, kind and checksum take another 12 bytes.
        let end = at.saturating_add(12).saturating_add(u32::from_be_bytes([a, b, c, d]) as usize);
        if end > bytes.len() || kind == b"IEND" {
            return end <= bytes.len();
        }
        at = end;
    }
    false
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
                    let end = data
                        .windows(2)
                        .position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7));
                    let Some(end) = end else { return false };
                    at += end;
                }
            }
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, RgbaImage};
    use proptest::prelude::*;

    use super::*;

    fn encoded(format: ImageFormat) -> Vec<u8> {
        let image = RgbaImage::from_fn(48, 32, |x, y| {
            image::Rgba([(x * 5) as u8, (y * 7) as u8, (x ^ y) as u8, 255])
        });
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(image).to_rgb8().write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    const FORMATS: [ImageFormat; 3] = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP];

    #[test]
    fn complete_images_are_read() {
        for format in FORMATS {
            let text = STANDARD.encode(encoded(format));
            for text in [text.clone(), format!("data:{};base64,{text}", format.to_mime_type())] {
                assert!(seems_image(&text));
                let Ok(Image::Inline(image)) = read(&text, false, 48 * 32) else {
                    panic!("{format:?} refused");
                };
                assert_eq!((image.width, image.height, image.format), (48, 32, format));
            }
        }
    }

    #[test]
    fn invalid_images_are_rejected() {
        let png = encoded(ImageFormat::Png);
        for (text, problem) in [
            ("", "not a jpeg"),
            ("???", "not valid base64"),
            (&STANDARD.encode(&png)[1..], "not valid base64"),
            (&STANDARD.encode("GIF89a, and so on and on"), "not a jpeg"),
            ("https://example.com/a.png", "not a URL"),
            ("data:image/png;base64,", "not a jpeg"),
        ] {
            let error = read(text, false, 1 << 20).err().unwrap();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let error = read(&STANDARD.encode(png), false, 48 * 32 - 1).err().unwrap();
        assert!(error.contains("48 x 32"), "{error}");
    }

    #[test]
    fn only_the_host_of_a_url_is_kept() {
        let Ok(image) = read("HTTPS://example.com/a.png?signature=secret", true, 1) else {
            panic!("refused");
        };
        assert_eq!(image.summary(), "[an image at example.com, not fetched]");
    }

    #[test]
    fn truncated_images_are_rejected() {
        for format in FORMATS {
            let whole = encoded(format);
            for length in 0..whole.len() {
                let cut = decode(whole[..length].to_vec(), 1 << 20);
                assert!(cut.is_err(), "{format:?} cut to {length} of {} bytes", whole.len());
            }
            let longer = [whole.as_slice(), b"and more"].concat();
            assert!(decode(longer, 1 << 20).is_ok(), "{format:?} with trailing data");
        }
    }

    proptest! {
        #[test]
        fn damaged_images_do_not_panic(
            format in 0usize..3,
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut damaged = encoded(FORMATS[format]);
            let at = at.index(damaged.len());
            damaged[at] = byte;
            let _ = decode(damaged, 1 << 20);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,64}") {
            let _ = (read(&text, true, 1), seems_image(&text));
        }
    }
}
