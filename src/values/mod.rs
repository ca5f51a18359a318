//! Hand-written types of values: the types of fields that the generator cannot express, secrets
//! that must not be printed, and values that the other modules share.

pub(crate) mod address;
mod aspect_ratio;
pub(crate) mod base64_text;
mod clock;
mod damaged;
pub(crate) mod file;
pub(crate) mod file_kind;
pub(crate) mod hash;
mod image_input;
mod json;
mod orientation;
mod task_ref;
mod task_status;
pub mod text;
mod violation;
pub(crate) mod whole;

use std::{
    error, fmt,
    sync::{self, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};

pub use self::address::Address;
pub use self::aspect_ratio::AspectRatio;
pub(crate) use self::clock::{Moment, NO_LIMIT, WallClock};
pub use self::damaged::Damaged;
pub use self::file_kind::FileKind;
pub use self::hash::digest_of_file;
pub use self::image_input::ImageInput;
pub(crate) use self::json::Fault;
pub use self::json::{Extra, IntoField};
pub use self::task_ref::{REGIONAL_BASE_URL_VARIABLE, Region, TaskRef};
pub use self::task_status::TaskStatus;
pub(crate) use self::text::{MAX_MESSAGE, MAX_NAME, hint, is_secret, one_line};
pub use self::violation::{Location, Violation};

/// How long a delivery URL is valid, according to the limits of the contract.
pub const DELIVERY_VALIDITY: Duration =
    Duration::from_secs(crate::generated::DELIVERY_VALIDITY_SECONDS);

/// The error returned when text is not an [`AspectRatio`], or not the URL of an image; see
/// [`ImageInput::try_url`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for ParseError {}

/// Printed in place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// A value that must not be printed, such as the secret that signs webhooks: `Debug` prints
/// `[redacted]`. Serialization writes the value itself, because the service needs it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Secret<T = String>(T);

impl<T> Secret<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(value)
    }

    pub(crate) fn get(&self) -> &T {
        &self.0
    }
}

impl Secret<String> {
    /// Returns the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl<S: Into<String>> From<S> for Secret<String> {
    fn from(secret: S) -> Self {
        Self(secret.into())
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// A mutex without poisoning. Use it only for values that are valid at any time at which a thread
/// that holds the lock could panic.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
