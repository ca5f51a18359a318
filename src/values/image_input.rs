use std::{
    fmt,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::Address;

/// An image that a request carries: a file, bytes, base64 text, or the URL of an image.
///
/// Files are read while they are sent, and bytes are encoded chunk by chunk: an upload takes a few chunks of half a MiB,
/// however large the image is. Which encodings a field takes is part of the contract, and `validate()` checks it.
/// `Clone` is cheap: bytes are shared.
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
    /// Text that is base64 already, sent as it is.
    Base64(Bytes),
    /// An address that the service fetches.
    Url(Address),
}

impl ImageInput {
    /// An image file. It is read when the request is sent; a file that can't be read is then an error of kind
    /// [`File`](crate::ErrorKind::File), before anything is paid.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self(ImageSource::Path(path.into()))
    }

    /// The bytes of an image file, not yet encoded.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self(ImageSource::Bytes(bytes.into()))
    }

    /// Text that is base64 already.
    pub fn base64(text: impl Into<String>) -> Self {
        Self(ImageSource::Base64(Bytes::from(text.into())))
    }

    /// The address of an image that the service fetches.
    pub fn url(url: impl Into<Address>) -> Self {
        Self(ImageSource::Url(url.into()))
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

/// As the contract writes it: base64 text or a URL. A file is read, all of it; submitting does not go this way.
impl Serialize for ImageInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::{display::Base64Display, engine::general_purpose::STANDARD};
        match &self.0 {
            ImageSource::Path(path) => {
                let bytes = std::fs::read(path).map_err(|error| {
                    serde::ser::Error::custom(format!("{} can't be read: {error}", path.display()))
                })?;
                serializer.collect_str(&Base64Display::new(&bytes, &STANDARD))
            }
            ImageSource::Bytes(bytes) => serializer.collect_str(&Base64Display::new(bytes, &STANDARD)),
            ImageSource::Base64(text) => serializer.collect_str(&String::from_utf8_lossy(text)),
            ImageSource::Url(url) => serializer.serialize_str(url.reveal()),
        }
    }
}

/// Text that starts with `http://` or `https://` is a URL, everything else base64.
impl<'de> Deserialize<'de> for ImageInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(match text.starts_with("http://") || text.starts_with("https://") {
            true => Self::url(text),
            false => Self::base64(text),
        })
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
