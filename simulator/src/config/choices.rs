//! Settings with a fixed set of choices.

use std::str::FromStr;

use serde::Deserialize;

/// The file format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// WebP.
    Webp,
}

/// Which images that a request gives by their URLs are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FetchImages {
    /// None.
    #[default]
    Never,
    /// Those on this machine, at a loopback address or `localhost`.
    Loopback,
    /// All.
    Any,
}

impl FromStr for FetchImages {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "never" => Ok(Self::Never),
            "loopback" => Ok(Self::Loopback),
            "any" => Ok(Self::Any),
            _ => Err("expected `never`, `loopback` or `any`"),
        }
    }
}
