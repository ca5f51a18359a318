//! Methods of the generated [`OutputFormat`].

use crate::OutputFormat;

impl OutputFormat {
    /// Returns the format for a file extension without its dot: `jpg`, `jpeg`, `png` or `webp`, in
    /// any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "png" => Some(Self::Png),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }
}
