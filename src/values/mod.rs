//! Hand-written field types: those the generator cannot express, and secrets that must not be
//! printed.

pub(crate) mod address;
mod aspect_ratio;
pub(crate) mod base64_text;
pub(crate) mod file_kind;
pub(crate) mod image_file;
mod image_input;
mod json;
mod secret;
pub(crate) mod task_ref;
mod task_status;
mod text;
mod violation;
pub(crate) mod whole;

use std::time::Duration;

pub use self::address::Address;
pub use self::aspect_ratio::{AspectRatio, AspectRatioError};
pub use self::file_kind::FileKind;
pub use self::image_input::{ImageInput, ImageSource, ImageUrlError};
pub(crate) use self::json::Fault;
pub use self::json::{Extra, IntoField, IntoJson};
pub use self::secret::{Secret, WebhookSecret};
pub use self::task_ref::{REGIONAL_BASE_URL_VARIABLE, Region, TaskRef};
pub use self::task_status::TaskStatus;
pub(crate) use self::text::{MAX_MESSAGE, MAX_NAME, hint, is_secret, one_line};
pub use self::violation::{Location, Violation};

/// How long a delivery URL is valid, according to the limits of the contract.
pub const DELIVERY_VALIDITY: Duration =
    Duration::from_secs(crate::generated::DELIVERY_VALIDITY_SECONDS);

/// Printed in place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";
