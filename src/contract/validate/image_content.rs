//! Validates the content of image fields from the first bytes.

use std::io::Read;

use super::Problem;
use crate::{
    ImageEncodings, ImageInput, ImageSource,
    values::{base64_text, file_kind::FileKind, image_file, web_url},
};

/// The number of leading bytes that identify the formats below.
const HEAD: usize = 32;

#[derive(Debug, PartialEq)]
enum Content {
    Image,
    Video,
    Archive,
}

/// Validates an image in a field with these encodings. A field that the contract does not define
/// has none, and may be an image, a video or an archive.
pub(super) fn check(image: &ImageInput, encodings: Option<ImageEncodings>) -> Result<(), Problem> {
    let wrong = |msg: String| Err(Problem::new("value_error", msg));
    match (image.source(), encodings) {
        (ImageSource::Url(_), Some(ImageEncodings::Base64)) => {
            let msg = "must be the image itself, not a URL; give a file or its bytes";
            return wrong(msg.to_owned());
        }
        (ImageSource::Url(url), _) => return check_url(url.reveal()),
        (ImageSource::Base64(text), _) if !base64_text::is_base64(text) => {
            let expected = match encodings {
                None | Some(ImageEncodings::Base64) => "not base64",
                _ => "neither base64 nor an http(s) URL",
            };
            let advice = "use `ImageInput::path` to send a file";
            return wrong(format!("is text that is {expected}; {advice}"));
        }
        _ => {}
    }
    // Skip unreadable files: the submission fails with an error that describes the problem better.
    let Some(head) = head(image, HEAD) else { return Ok(()) };
    let file = file_of(image);
    match (content(&head), encodings) {
        (None, _) if head.is_empty() => wrong(format!("is empty; must be an image{file}")),
        (Some(Content::Image), _) | (Some(_), None) => Ok(()),
        (_, None) => wrong(format!("is not an image, a video or a ZIP archive{file}")),
        (_, Some(_)) => wrong(format!(
            "is not an image; must be JPEG, PNG, WebP, GIF or another common image format{file}"
        )),
    }
}

pub(super) fn check_url(text: &str) -> Result<(), Problem> {
    web_url::check(text).map_err(|problem| Problem::new("url_parsing", problem))
}

/// Returns the file of an image for the end of a message.
pub(super) fn file_of(image: &ImageInput) -> String {
    match image.source() {
        ImageSource::Path(path) => format!(": `{}`", path.display()),
        _ => String::new(),
    }
}

/// Returns the first `length` bytes of an image, or all if there are fewer. Returns `None` for URLs
/// and unreadable files.
pub(in crate::contract) fn head(image: &ImageInput, length: usize) -> Option<Vec<u8>> {
    match image.source() {
        ImageSource::Bytes(bytes) => Some(bytes.get(..length).unwrap_or(bytes).to_vec()),
        ImageSource::Base64(text) => base64_text::decode_head(text, length),
        ImageSource::Path(path) => {
            let mut head = Vec::new();
            image_file::open(path).ok()?.take(length as u64).read_to_end(&mut head).ok()?;
            Some(head)
        }
        ImageSource::Url(_) => None,
    }
}

/// Detects formats with a fixed signature. Formats without one, such as TGA, are not supported.
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

#[cfg(test)]
mod tests {
    use super::{Content, content};

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
}
