//! Images in requests.

use std::{
    fmt,
    io::Read as _,
    path::{Path, PathBuf},
};

use base64::Engine;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;
use url::Url;

use super::{
    Address, FileKind, ParseError,
    address::parse_web_url,
    base64_text, file, orientation,
    text::{is_data_url, is_url},
};

/// The number of bytes to read from the start of an image to find its dimensions and its
/// orientation. A JPEG file may contain a large preview before its dimensions.
const HEADERS: usize = 512 * 1024;

/// An image in a request: a file, bytes, base64 text, or a URL.
///
/// Files are read and encoded while they are sent, so an upload uses a few MiB of memory regardless
/// of the image size. `Clone` is cheap because bytes are shared.
///
/// Creating an `ImageInput` checks nothing. `validate()`, which every submission calls first,
/// checks that:
///
/// - the field accepts this form of image;
/// - files, bytes and base64 text are not empty, and start with the header of a known image format;
/// - base64 text is valid to its end;
/// - a URL is an http or https URL without whitespace and control characters.
///
/// [`ClientBuilder::validation`](crate::ClientBuilder::validation) turns these checks off. Files
/// have checks that cannot be turned off; see [`ImageInput::path`].
///
/// ```
/// use imagekiln::{ImageInput, types::Gen2Pro};
/// let request = Gen2Pro::new("the same fox at night")
///     .input_image(ImageInput::path("fox.png"))
///     .input_image_2("https://example.com/moon.jpg");
/// ```
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
#[non_exhaustive]
pub enum ImageInput {
    /// A file, read while the request is sent.
    Path(PathBuf),
    /// The bytes of an image file.
    Bytes(Bytes),
    /// Text that is already base64, in UTF-8. Only [`ImageInput::base64`] creates it.
    #[non_exhaustive]
    Base64(Bytes),
    /// A URL that the service fetches.
    Url(Address),
}

impl ImageInput {
    /// Creates an image from a file, which is read when the request is sent.
    ///
    /// If the file does not exist, cannot be read or is not a regular file, the submission fails
    /// with an error of kind [`File`](crate::ErrorKind::File), and nothing is sent. If the file
    /// changes while it is sent, the submission fails with the same kind: the upload stops before
    /// its last byte, so nothing is billed. The client detects a change by the length, the
    /// modification time and, on Unix, the device and the inode of the file.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self::Path(path.into())
    }

    /// Creates an image from the unencoded bytes of an image file.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::Bytes(bytes.into())
    }

    /// Creates an image from text that is already base64: in the standard or URL-safe alphabet,
    /// with or without padding, optionally prefixed with `data:TYPE;base64,`. ASCII whitespace is
    /// removed before sending.
    ///
    /// Other text fails validation. If validation is turned off, the text is sent unchanged as a
    /// JSON string.
    pub fn base64(text: impl Into<String>) -> Self {
        Self::Base64(Bytes::from(text.into()))
    }

    /// Creates an image from a URL that the service fetches.
    pub fn url(url: impl Into<Address>) -> Self {
        Self::Url(url.into())
    }

    /// Creates an image from an http, https or `data:` URL, and checks the URL immediately.
    ///
    /// Use this constructor for untrusted text, such as a form field of a web application. The text
    /// cannot name a local file.
    ///
    /// ```
    /// use imagekiln::ImageInput;
    /// assert!(ImageInput::try_url("https://example.com/fox.png").is_ok());
    /// let error = ImageInput::try_url("/etc/passwd").unwrap_err();
    /// let message = "not the URL of an image: must be an http, https or data: URL";
    /// assert_eq!(error.to_string(), message);
    /// ```
    ///
    /// # Errors
    ///
    /// The text is not an http, https or `data:` URL, or the payload of a `data:` URL is not
    /// base64.
    pub fn try_url(text: impl Into<String>) -> Result<Self, ParseError> {
        let text = text.into();
        let refused = |problem| ParseError(format!("not the URL of an image: {problem}"));
        if is_data_url(&text) {
            return if base64_text::is_base64(text.as_bytes()) {
                Ok(Self::base64(text))
            } else {
                Err(refused("must be `data:TYPE;base64,` followed by base64"))
            };
        }
        if !is_url(&text) {
            return Err(refused("must be an http, https or data: URL"));
        }
        parse_web_url(&text).map_err(refused)?;
        Ok(Self::url(text))
    }

    /// Returns the first `length` bytes of the image file, or all bytes if there are fewer. For
    /// base64 text, the number of bytes may differ slightly. `None` for a URL, for text that is not
    /// base64, and for a file that cannot be read.
    ///
    /// May block, because it reads files.
    #[doc(hidden)]
    pub fn head(&self, length: usize) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Some(bytes.get(..length).unwrap_or(bytes).to_vec()),
            Self::Base64(text) => base64_text::decode_head(text, length),
            Self::Path(path) => {
                let mut head = Vec::new();
                file::open(path).ok()?.take(length as u64).read_to_end(&mut head).ok()?;
                Some(head)
            }
            Self::Url(_) => None,
        }
    }

    /// Returns how viewers rotate or mirror the image before they show it, as an EXIF orientation
    /// from 1 to 8. 1 means that the image is upright or that its orientation is not known. From 5
    /// on, viewers show the stored width as the height.
    ///
    /// Phones often store a photo rotated and set its orientation instead. The SDK sends an image
    /// as it is stored, so a mask that was drawn on the image in a viewer does not fit the stored
    /// image. This method may block, because it reads files.
    #[doc(hidden)]
    pub fn orientation(&self) -> u8 {
        self.head(HEADERS).map_or(1, |head| orientation::of(&head))
    }

    /// Returns the stored width and height in pixels, and the EXIF orientation. `None` if the
    /// dimensions are not known.
    pub(crate) fn stored_size(&self) -> Option<(usize, usize, u8)> {
        let head = self.head(HEADERS)?;
        let ((width, height), orientation) = (FileKind::pixels(&head)?, orientation::of(&head));
        // `imagesize` swaps the width and the height of a rotated AVIF or HEIC image, but not of
        // other formats. Undo this.
        let is_turned = orientation > 4 && head.get(4..8) == Some(b"ftyp");
        let (width, height) = if is_turned { (height, width) } else { (width, height) };
        Some((width, height, orientation))
    }

    /// Interprets the text of an image field: a URL if it starts with `http://` or `https://`, and
    /// base64 otherwise.
    pub(crate) fn from_text(text: String) -> Self {
        if is_url(&text) { Self::url(text) } else { Self::base64(text) }
    }
}

/// Converts an http, https or `data:` URL. Other text fails validation: use [`ImageInput::path`] or
/// a `Path` for a local file, and [`ImageInput::base64`] for base64.
impl From<String> for ImageInput {
    fn from(text: String) -> Self {
        if is_data_url(&text) { Self::base64(text) } else { Self::url(text) }
    }
}

/// Implements `From` for each of these types.
macro_rules! from {
    ($($(#[$documentation:meta])* $type:ty => $convert:expr;)+) => {
        $(
            $(#[$documentation])*
            impl From<$type> for ImageInput {
                fn from(value: $type) -> Self {
                    $convert(value)
                }
            }
        )+
    };
}

from! {
    /// Converts text like `From<String>`.
    &str => |text: &str| Self::from(text.to_owned());
    PathBuf => Self::path;
    &Path => Self::path;
    Bytes => Self::bytes;
    Vec<u8> => Self::bytes;
    Url => Self::url;
}

impl fmt::Debug for ImageInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Base64(text) => write!(f, "Base64({} characters)", text.len()),
            Self::Url(url) => f.debug_tuple("Url").field(url).finish(),
        }
    }
}

/// The stored form of an image that cannot be stored as plain text.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    /// A file.
    Path(PathBuf),
    /// Base64 of bytes.
    Bytes(String),
    /// Text that the caller declared to be base64.
    Base64(String),
    /// Text that the caller declared to be a URL.
    Url(String),
}

/// Serializes to the stored form: the text of a URL or of base64, `{"path": ...}` for a file, or
/// `{"bytes": ...}` with base64 for bytes. Text that would be read as the other kind is stored as
/// `{"url": ...}` or `{"base64": ...}`. Does not read files.
impl Serialize for ImageInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = match self {
            Self::Path(path) => Stored::Path(path.clone()),
            Self::Bytes(bytes) => Stored::Bytes(base64_text::STANDARD.encode(bytes)),
            Self::Base64(text) => Stored::Base64(String::from_utf8_lossy(text).into()),
            Self::Url(url) => Stored::Url(url.reveal().to_owned()),
        };
        match stored {
            Stored::Base64(text) | Stored::Url(text) if Self::from_text(text.clone()) == *self => {
                serializer.serialize_str(&text)
            }
            stored => stored.serialize(serializer),
        }
    }
}

impl ImageInput {
    /// Reads the stored form. The form may contain the path of a local file, so the value must come
    /// from a trusted source.
    pub(crate) fn from_stored(value: Value) -> Result<Self, String> {
        if let Value::String(text) = value {
            return Ok(Self::from_text(text));
        }
        let expected = "must be text, or an object with one of `path`, `bytes`, `base64`, `url`";
        match serde_json::from_value(value).map_err(|_| expected)? {
            Stored::Path(path) => Ok(Self::path(path)),
            Stored::Bytes(text) => base64_text::STANDARD
                .decode(text)
                .map(Self::bytes)
                .map_err(|error| format!("has `bytes` that are not base64: {error}")),
            Stored::Base64(text) => Ok(Self::base64(text)),
            Stored::Url(url) => Ok(Self::url(url)),
        }
    }
}

/// Reads the stored form, except paths. Text that starts with `http://` or `https://` is a URL, and
/// other text is base64. A path is an error, because the text may come from an untrusted source.
/// Only [`Request::from_json`](crate::Request::from_json) accepts paths.
impl<'de> Deserialize<'de> for ImageInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let image =
            Self::from_stored(Value::deserialize(deserializer)?).map_err(D::Error::custom)?;
        match image {
            Self::Path(_) => Err(D::Error::custom(
                "an image cannot be a path here; use `from_json` to read requests with paths",
            )),
            _ => Ok(image),
        }
    }
}
