//! Hand-written field types: those the generator cannot express, and secrets that must not be
//! printed.

mod address;
mod aspect_ratio;
pub(crate) mod base64_text;
mod extra;
pub(crate) mod file_kind;
pub(crate) mod image_file;
mod image_input;
mod output_format;
mod region;
mod task_ref;
mod task_status;
mod text;
mod violation;
pub(crate) mod web_url;
mod webhook_secret;

pub use address::Address;
pub use aspect_ratio::{AspectRatio, AspectRatioError};
pub use extra::Extra;
pub use file_kind::FileKind;
pub use image_input::{ImageInput, ImageSource, ImageUrlError};
pub use region::Region;
pub use task_ref::TaskRef;
pub use task_status::TaskStatus;
pub(crate) use text::{MAX_MESSAGE, MAX_NAME, one_line};
pub use violation::{Location, Violation};
pub use webhook_secret::WebhookSecret;

/// Printed in place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";
