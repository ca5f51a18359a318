//! Which images that are given by their URLs are fetched.

use std::str::FromStr;

use serde::Deserialize;

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
