//! Validates images: their format from the first bytes, their dimensions from their headers, and
//! whether they are truncated.

use std::io::Read;

use super::super::operation::{Field, FieldKind};
use crate::{
    Error, FileKind, ImageInput, Location, Request, Violation,
    values::{
        address::parse_web_url,
        base64_text, file,
        file_kind::HEAD,
        whole::{Checker, Extent},
    },
};

#[derive(Debug, PartialEq)]
enum Content {
    Image,
    Video,
    Archive,
}

/// Returns what is wrong with an image in a field of this kind. A field that the contract does not
/// define may contain an image, a video or an archive.
pub(super) fn check(image: &ImageInput, kind: Option<&FieldKind>) -> Option<Violation> {
    let (takes_url, is_defined) = match kind {
        Some(FieldKind::Image { takes_url, .. }) => (*takes_url, true),
        Some(_) => return Some(Violation::new("type_error", "is not an image field")),
        None => (None, false),
    };
    let wrong = |msg: String| Some(Violation::new("value_error", msg));
    match image {
        ImageInput::Url(_) if takes_url == Some(false) => {
            let msg = "must be the image itself, not a URL; give a file or its bytes";
            return wrong(msg.to_owned());
        }
        ImageInput::Url(url) => return check_url(url.reveal()),
        ImageInput::Base64(text) if !base64_text::is_base64(text) => {
            let expected = if is_defined && takes_url != Some(false) {
                "neither base64 nor an http(s) URL"
            } else {
                "not base64"
            };
            let advice = "use `ImageInput::path` to send a file";
            return wrong(format!("is text that is {expected}; {advice}"));
        }
        _ => {}
    }
    // Skip files that cannot be read. The submission of such a file fails with an error that
    // describes the problem better.
    let head = image.head(HEAD)?;
    let file = file_of(image);
    match (content(&head), is_defined) {
        (None, _) if head.is_empty() => wrong(format!("is empty; must be an image{file}")),
        (Some(Content::Image), _) | (Some(_), false) => None,
        (_, false) => wrong(format!("is not an image, a video or a ZIP archive{file}")),
        (_, true) => wrong(format!(
            "is not an image; must be JPEG, PNG, WebP, GIF or another common image format{file}"
        )),
    }
}

pub(super) fn check_url(text: &str) -> Option<Violation> {
    parse_web_url(text).err().map(|problem| Violation::new("url_parsing", problem))
}

/// Returns the path of an image file as the end of a message, or an empty string for other images.
fn file_of(image: &ImageInput) -> String {
    match image {
        ImageInput::Path(path) => format!(": `{}`", path.display()),
        _ => String::new(),
    }
}

/// Detects the kind of content from the first bytes. A format without a signature, such as TGA, is
/// not detected.
fn content(head: &[u8]) -> Option<Content> {
    match head {
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(Content::Archive),
        // BMP: the reserved fields are zero.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..]
        // TIFF and BigTIFF in either byte order, and ICO.
        | [b'I', b'I', 42 | 43, 0, ..]
        | [b'M', b'M', 0, 42 | 43, ..]
        | [0, 0, 1, 0, ..]
        // JPEG XL and JPEG 2000, as a codestream or in a container.
        | [0xff, 0x0a, ..]
        | [0, 0, 0, 12, b'J', b'X', b'L', b' ', b'\r', b'\n', 0x87, b'\n', ..]
        | [0xff, 0x4f, 0xff, 0x51, ..]
        | [0, 0, 0, 12, b'j', b'P', b' ', b' ', b'\r', b'\n', 0x87, b'\n', ..]
        // PSD, QOI, PNM.
        | [b'8', b'B', b'P', b'S', ..]
        | [b'q', b'o', b'i', b'f', ..]
        | [b'P', b'1'..=b'7', b' ' | b'\t' | b'\r' | b'\n', ..] => Some(Content::Image),
        _ => match FileKind::of(head)? {
            FileKind::Mp4 | FileKind::Webm => Some(Content::Video),
            _ => Some(Content::Image),
        },
    }
}

/// The number of pixels in a megapixel. The contract does not define whether this is 10^6 or 2^20.
/// With the larger value, validation does not refuse an image that the service may accept.
const MEGAPIXEL: f64 = 1_048_576.0;

/// Validates the dimensions of images from their headers, without decoding the images. Skips images
/// at URLs, and images whose dimensions cannot be read: only the service can check those.
pub(super) fn size_violations(request: &Request, found: &mut Vec<Violation>) {
    for (steps, image) in request.all_images() {
        let [Location::Name(name)] = &*steps else { continue };
        let Some(Field { kind, .. }) = request.operation.field(name) else { continue };
        let FieldKind::Image { mask_of, same_size, max_megapixels, .. } = kind else { continue };
        let masked = mask_of.filter(|_| *same_size);
        if masked.is_none() && max_megapixels.is_none() {
            continue;
        }
        let Some(size) = image.stored_size() else { continue };
        let mut report = |kind, msg| found.push(Violation::new(kind, msg).at(&steps));
        let (width, height, _) = size;
        if let Some(limit) = max_megapixels
            && (width as f64) * (height as f64) > limit * MEGAPIXEL
        {
            let is = pixels(width, height);
            report("value_error", format!("is {is}; must have at most {limit} megapixels"));
        }
        if let Some(masked) = masked
            && let Some(other) = request.image_in(masked)
            && let Some(other) = other.stored_size()
            && (width, height) != (other.0, other.1)
        {
            let fits = shown(size) == shown(other);
            let kind = if fits { TURNED } else { "value_error" };
            let (is, must) = (described(size), described(other));
            report(kind, format!("is {is}; must be {must}, like `{masked}`"));
        }
    }
}

/// The type of a violation for a mask and an image that have different stored dimensions, but the
/// same dimensions in a viewer, which applies the EXIF orientation.
const TURNED: &str = "image_orientation";

fn pixels(width: usize, height: usize) -> String {
    format!("{width} x {height} pixels")
}

/// Returns the width and the height that viewers show.
fn shown((width, height, orientation): (usize, usize, u8)) -> (usize, usize) {
    if orientation > 4 { (height, width) } else { (width, height) }
}

fn described(size: (usize, usize, u8)) -> String {
    let (width, height, orientation) = size;
    let stored = pixels(width, height);
    if orientation == 1 {
        return stored;
    }
    let (width, height) = shown(size);
    format!("{stored} as stored (EXIF orientation {orientation}; viewers show {width} x {height})")
}

/// The number of bytes to read from a file at a time.
const CHUNK: usize = 64 * 1024;

impl Request {
    /// Reads all images of the request completely, and checks that none of them is truncated.
    ///
    /// Submitting a request does not include this check, because the client reads a file only once,
    /// while it sends the file. This method follows the structure of JPEG, PNG and WebP images,
    /// without decoding them. It skips images in other formats, images at URLs, and files that
    /// cannot be read.
    ///
    /// This method may block, because it reads files.
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](crate::ErrorKind::Validation), with a violation for each truncated
    /// image.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn check_images(&self) -> Result<(), Error> {
        let mut found = Vec::new();
        for (steps, image) in self.all_images() {
            if let Some(kind) = cut_off(image) {
                let file = file_of(image);
                let msg = format!("is truncated; must be a complete {kind} image{file}");
                found.push(Violation::new("value_error", msg).at(&steps));
            }
        }
        super::fail_if_any(self.operation, found)
    }
}

/// Returns the format of a truncated image. `None` if the image is complete or cannot be checked.
fn cut_off(image: &ImageInput) -> Option<FileKind> {
    let mut checker = Checker::default();
    match image {
        ImageInput::Url(_) => return None,
        ImageInput::Bytes(bytes) => checker.feed(bytes),
        ImageInput::Base64(text) => checker.feed(&image.head(text.len())?),
        ImageInput::Path(path) => {
            let mut file = file::open(path).ok()?;
            let mut chunk = vec![0; CHUNK];
            while let length @ 1.. = file.read(&mut chunk).ok()? {
                checker.feed(chunk.get(..length).unwrap_or_default());
            }
        }
    }
    let is_image = |kind: &FileKind| !matches!(kind, FileKind::Mp4 | FileKind::Webm);
    let kind = checker.kind().filter(is_image);
    kind.filter(|_| checker.extent() == Extent::Partial)
}

#[cfg(test)]
mod tests {
    use super::{Content, content};
    use crate::{ImageInput, Request, find_operation};

    #[test]
    fn formats_are_detected_by_their_signatures() {
        let images: [&[u8]; 22] = [
            b"\xff\xd8\xff\xe0\0\x10JFIF",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            b"RIFF\x24\0\0\0WEBPVP8 ",
            b"GIF89a\x01\0\x01\0",
            b"\0\0\0\x1cftypavif\0\0\0\0",
            b"\0\0\0\x18ftypheic\0\0\0\0",
            b"\0\0\0\x18ftypmif1\0\0\0\0",
            b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0",
            b"II*\0\x08\0\0\0",
            b"MM\0*\0\0\0\x08",
            b"II+\0\x08\0\0\0",
            b"MM\0+\0\x08\0\0",
            b"\0\0\x01\0\x01\0",
            b"\xff\x0a\xfa\x0f",
            b"\0\0\0\x0cJXL \r\n\x87\n",
            b"\xff\x4f\xff\x51\0\x2f",
            b"\0\0\0\x0cjP  \r\n\x87\n",
            b"8BPS\0\x01",
            b"qoif\0\0\0\x01",
            b"P1\n1 1\n0",
            b"P6\n1 1\n255\n",
            b"P7\nWIDTH 1\n",
        ];
        for head in images {
            assert_eq!(content(head), Some(Content::Image), "{}", head.escape_ascii());
        }
        for head in
            [b"\0\0\0\x18ftypisom\0\0\x02\0".as_slice(), b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81"]
        {
            assert_eq!(content(head), Some(Content::Video), "{}", head.escape_ascii());
        }
        assert_eq!(content(b"PK\x03\x04\x14\0"), Some(Content::Archive));
    }

    #[test]
    fn other_content_is_not_an_image() {
        let others: [&[u8]; 12] = [
            b"",
            b"P",
            b"B",
            b"BMW makes cars",
            b"P1x",
            b"Please",
            b"{\"a\":1}",
            b"%PDF-1.7",
            b"<svg xmlns=",
            b"\0\0\0\0",
            b"RIFF\x24\0\0\0WAVE",
            b"fox.png",
        ];
        for head in others {
            assert_eq!(content(head), None, "{}", head.escape_ascii());
        }
    }

    #[test]
    fn an_image_that_is_cut_off_is_a_violation_of_its_field() {
        let whole =
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR0123456789abc----\0\0\0\x01IDATx----\0\0\0\0IEND----";
        let checked = |bytes: &'static [u8]| {
            Request::new(find_operation("gen-2-pro").unwrap())
                .image("input_image", ImageInput::bytes(bytes))
                .image("person", ImageInput::url("https://example.com/fox.png"))
                .check_images()
        };
        assert!(checked(whole).is_ok());
        let error = checked(&whole[..whole.len() - 1]).unwrap_err();
        let [violation] = error.violations() else { panic!("{error}") };
        assert_eq!(
            violation.to_string(),
            "input_image: is truncated; must be a complete PNG image"
        );
        // An unknown format cannot be checked.
        assert!(checked(b"8BPS\0\x01").is_ok());
    }
}
