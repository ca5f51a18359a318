use std::{
    fmt,
    io::Read,
    path::{Path, PathBuf},
};

use base64::Engine;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::{
    Address,
    base64_text::{self, Sendable},
    image_file,
};

/// An image that a request carries: a file, bytes, base64 text, or the URL of an image.
///
/// Files are read and encoded while they are sent, so an upload needs a few MiB of memory, however
/// large the image is. `Clone` is cheap: bytes are shared.
///
/// Nothing is checked when an `ImageInput` is made. `validate()`, which a submission calls first,
/// checks:
///
/// - that the field takes this form of image;
/// - that files, bytes and base64 text are not empty, and start as an image of a known format does;
/// - that base64 text is valid to its end;
/// - that a URL is an http or https URL without blanks and control characters.
///
/// [`ClientBuilder::validation`](crate::ClientBuilder::validation) turns these checks off. Files
/// are also checked without it: see [`ImageInput::path`].
///
/// ```
/// use imagekiln::{ImageInput, types::Gen2Pro};
/// let request = Gen2Pro::new("the same fox at night")
///     .input_image(ImageInput::path("fox.png"))
///     .input_image_2(ImageInput::url("https://example.com/moon.jpg"));
/// ```
#[derive(Clone, PartialEq)]
pub struct ImageInput(ImageSource);

/// Where the bytes of an [`ImageInput`] come from.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum ImageSource {
    /// A file, read while it is sent.
    Path(PathBuf),
    /// The bytes of an image file.
    Bytes(Bytes),
    /// Text that is base64 already, in UTF-8.
    Base64(Bytes),
    /// An address that the service fetches.
    Url(Address),
}

impl ImageInput {
    /// An image file, read when the request is sent.
    ///
    /// A file that does not exist, can't be read or is not a regular file is an error of kind
    /// [`File`](crate::ErrorKind::File), and nothing is sent. So is a file that changes while it is
    /// sent: the upload stops before its last byte, and nothing is paid. A change shows in the
    /// file's length, its modification time and, on Unix, its inode.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self(ImageSource::Path(path.into()))
    }

    /// The bytes of an image file, not yet encoded.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self(ImageSource::Bytes(bytes.into()))
    }

    /// Text that is base64 already: of either alphabet, with or without padding, and with or
    /// without `data:TYPE;base64,` in front of it. It is sent without its ASCII whitespace.
    ///
    /// Other text fails validation. With validation turned off, it is sent as it is, as a JSON
    /// string.
    pub fn base64(text: impl Into<String>) -> Self {
        Self(ImageSource::Base64(Bytes::from(text.into())))
    }

    /// The address of an image that the service fetches.
    pub fn url(url: impl Into<Address>) -> Self {
        Self(ImageSource::Url(url.into()))
    }

    /// What text means as the value of an image field: a URL or base64.
    pub(crate) fn from_text(text: String) -> Self {
        let is_url = ["http://", "https://"].iter().any(|scheme| {
            text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
        });
        if is_url { Self::url(text) } else { Self::base64(text) }
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &ImageSource {
        &self.0
    }
}

impl From<PathBuf> for ImageInput {
    fn from(path: PathBuf) -> Self {
        Self::path(path)
    }
}

impl From<&Path> for ImageInput {
    fn from(path: &Path) -> Self {
        Self::path(path)
    }
}

impl From<Bytes> for ImageInput {
    fn from(bytes: Bytes) -> Self {
        Self::bytes(bytes)
    }
}

impl From<Vec<u8>> for ImageInput {
    fn from(bytes: Vec<u8>) -> Self {
        Self::bytes(bytes)
    }
}

impl From<Url> for ImageInput {
    fn from(url: Url) -> Self {
        Self::url(url)
    }
}

impl fmt::Debug for ImageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Base64(text) => write!(f, "Base64({} characters)", text.len()),
            Self::Url(url) => f.debug_tuple("Url").field(url).finish(),
        }
    }
}

impl fmt::Debug for ImageInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As the contract writes it: base64 text or a URL. Reads all of a file into memory; submitting
/// does not.
impl Serialize for ImageInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            ImageSource::Path(path) => {
                let mut bytes = Vec::new();
                image_file::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(
                    |error| {
                        serde::ser::Error::custom(format!(
                            "could not read {}: {error}",
                            path.display()
                        ))
                    },
                )?;
                serializer.serialize_str(&base64_text::STANDARD.encode(&bytes))
            }
            ImageSource::Bytes(bytes) => {
                serializer.serialize_str(&base64_text::STANDARD.encode(bytes))
            }
            ImageSource::Base64(text) => {
                let (Sendable::Plain(text) | Sendable::Escaped(text)) = base64_text::sendable(text);
                serializer.serialize_str(&String::from_utf8_lossy(&text))
            }
            ImageSource::Url(url) => serializer.serialize_str(url.reveal()),
        }
    }
}

/// Text that starts with `http://` or `https://` is a URL, everything else base64.
impl<'de> Deserialize<'de> for ImageInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from_text)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for ImageInput {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ImageInput".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}
