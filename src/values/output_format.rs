//! What the generated [`OutputFormat`] does besides naming its values.

use crate::OutputFormat;

impl OutputFormat {
    /// The format for the extension of a file name, without its dot: `jpg` and `jpeg`, `png`,
    /// `webp`, in upper or lower case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "png" => Some(Self::Png),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }
}
