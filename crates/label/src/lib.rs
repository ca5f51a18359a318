#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

mod description;
mod price;
mod template;

use std::{error, fmt};

use sha2::{Digest as _, Sha256};

pub use self::{
    description::{DescribedPicture, DescribedTimes, Description, describe_request, named},
    price::{Price, checked_credits, megapixels, pixels, pixels_of_intent},
    template::{MAX_COMPONENT, Template, TemplateFields, check_component, shortened},
};

/// The reason why a text is not a [`Template`] or a [`Price`]. For a template, `Display` names the
/// position of the problem and lists the fields. For a price, it shows the forms that a price can
/// have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Error {}

/// Returns the SHA-256 digest in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    use fmt::Write as _;

    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
