//! Images in requests, as base64 or URL.

use std::{io::Cursor, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{
    DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, ImageResult, Limits, RgbaImage,
};
use serde::{Deserialize, Serialize};
use url::Url;

/// Four channels of 16 bits.
const MAX_PIXEL_BYTES: u64 = 8;

/// The maximum memory for a file's metadata.
const MAX_METADATA_BYTES: u64 = 16 << 20;

/// An image of a request, and its location.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Names and indices joined by dots: `input_image_2`, `keyframes.0`.
    pub place: String,
    /// Whether the field is the mask of another image.
    pub is_mask: bool,
    /// The image itself, or the host that has it.
    pub image: Image,
}

impl Input {
    /// The pixels, with eight bits per channel. The image was decoded before; if that fails now,
    /// the picture is painted without it.
    pub fn decode(&self) -> Option<RgbaImage> {
        match &self.image {
            Image::Inline(image) => image.decode().ok().map(DynamicImage::into_rgba8),
            Image::Elsewhere(_) => None,
        }
    }
}

/// An image of a request.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Image {
    /// Given as base64.
    Inline(Inline),
    /// Given by its URL, of which only the host is kept. It was not fetched.
    Elsewhere(String),
}

/// An image whose bytes are in the request. In a snapshot it is base64.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Inline {
    /// The file.
    pub bytes: Arc<[u8]>,
    /// JPEG, PNG or WebP.
    pub format: ImageFormat,
    /// In pixels, without the orientation that Exif gives.
    pub width: u32,
    /// In pixels, without the orientation that Exif gives.
    pub height: u32,
}

impl From<Inline> for String {
    fn from(image: Inline) -> Self {
        STANDARD.encode(&image.bytes)
    }
}

impl TryFrom<String> for Inline {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match read(&text, false, u64::MAX)? {
            Image::Inline(image) => Ok(image),
            Image::Elsewhere(_) => Err("the image is a URL".to_owned()),
        }
    }
}

impl Inline {
    /// The stored pixels. Exif orientation and colour profiles are ignored.
    fn decode(&self) -> ImageResult<DynamicImage> {
        reader(&self.bytes, self.format, self.pixels()).decode()
    }

    /// Fails if the image has more than `max_pixels` pixels.
    pub(crate) fn check_size(&self, max_pixels: u64) -> Result<(), String> {
        if self.pixels() <= max_pixels {
            return Ok(());
        }
        let Self { width, height, .. } = self;
        Err(format!(
            "the image of {width} x {height} pixels exceeds the limit of {max_pixels} pixels"
        ))
    }

    /// Decodes the complete image once, to detect damage. The error does not quote it.
    pub fn check(&self) -> Result<(), String> {
        self.decode().map_err(undecodable)?;
        is_whole(self.format, &self.bytes)
            .then_some(())
            .ok_or_else(|| "could not decode the image: it is truncated".to_owned())
    }

    /// The area in pixels.
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Whether the file has an alpha channel.
    pub fn has_alpha(&self) -> bool {
        let decoder = reader(&self.bytes, self.format, self.pixels()).into_decoder();
        decoder.is_ok_and(|decoder| decoder.color_type().has_alpha())
    }
}

impl Image {
    /// The text that replaces the image in the log.
    pub fn summary(&self) -> String {
        match self {
            Self::Inline(Inline { bytes, format, width, height }) => {
                let (kind, length) = (format.to_mime_type(), bytes.len());
                format!("[{kind} of {width} x {height} pixels, {length} bytes]")
            }
            Self::Elsewhere(host) => format!("[an image at {host}, not fetched]"),
        }
    }
}

/// Parses an image field. The image is not decoded yet. The error does not quote the field.
pub fn read(text: &str, takes_address: bool, max_pixels: u64) -> Result<Image, String> {
    match host(text) {
        Some(host) if takes_address => return Ok(Image::Elsewhere(host)),
        Some(_) => return Err("the field accepts base64 data, not a URL".to_owned()),
        None => {}
    }
    let bytes = STANDARD
        .decode(payload(text))
        .map_err(|error| format!("the image is not valid base64: {error}"))?;
    inline(bytes, max_pixels).map(Image::Inline)
}

/// Whether a field that the contract does not list seems to contain an image.
pub fn seems_image(text: &str) -> bool {
    let head: Vec<u8> = payload(text).bytes().take(16).collect();
    head.len() == 16 && STANDARD.decode(head).is_ok_and(|head| format_of(&head).is_some())
}

/// The data without the prefix of a `data:` URL.
fn payload(text: &str) -> &str {
    let is_image = |(head, _): &(&str, &str)| head.len() < 64 && head.starts_with("data:image/");
    text.split_once(";base64,").filter(is_image).map_or(text, |(_, data)| data)
}

/// The host of an `http` or `https` URL.
pub fn host(text: &str) -> Option<String> {
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

fn undecodable(error: image::ImageError) -> String {
    format!("could not decode the image: {error}")
}

/// Checks the size, then decodes the complete image once to detect truncation.
pub fn decode(bytes: impl Into<Arc<[u8]>>, max_pixels: u64) -> Result<Inline, String> {
    let image = inline(bytes, max_pixels)?;
    image.check()?;
    Ok(image)
}

/// Reads the format and the size, and checks the size.
pub fn inline(bytes: impl Into<Arc<[u8]>>, max_pixels: u64) -> Result<Inline, String> {
    let bytes = bytes.into();
    let format = format_of(&bytes).ok_or("the data is not a jpeg, png or webp image")?;
    let (width, height) = reader(&bytes, format, 0).into_dimensions().map_err(undecodable)?;
    let image = Inline { bytes, format, width, height };
    image.check_size(max_pixels)?;
    Ok(image)
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
        // The last chunk, with its checksum.
        ImageFormat::Png => bytes.windows(8).any(|chunk| chunk == b"IEND\xae\x42\x60\x82"),
        // The header of a webp has its length.
        _ => bytes
            .get(4..)
            .and_then(|rest| rest.first_chunk())
            .is_some_and(|length| bytes.len() as u64 >= u64::from(u32::from_le_bytes(*length)) + 8),
    }
}

/// Whether a jpeg has its end marker.
fn jpeg_ends(bytes: &[u8]) -> bool {
    // Image data ends at a marker that is neither an escaped 0xff nor a restart.
    let is_end = |pair: &[u8]| matches!(pair, [0xff, next] if !matches!(next, 0 | 0xd0..=0xd7));
    let mut rest = bytes.get(2..).unwrap_or_default();
    while let [0xff, marker, after @ ..] = rest {
        let skipped = match (marker, after) {
            (0xd9, _) => return true,
            // Fill bytes, and markers without a segment.
            (0xff, _) => 1,
            (0x01 | 0xd0..=0xd8, _) => 2,
            (_, [high, low, ..]) => 2 + usize::from(u16::from_be_bytes([*high, *low])).max(2),
            _ => return false,
        };
        let is_scan = *marker == 0xda;
        rest = rest.get(skipped..).unwrap_or_default();
        if is_scan {
            let end = rest.windows(2).position(is_end);
            rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
        }
    }
    false
}
