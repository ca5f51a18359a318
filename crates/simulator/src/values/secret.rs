//! Values that must not be printed.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A value that `Debug` does not show, such as a key. `into` makes a value secret:
///
/// ```
/// use imagekiln_simulator::Config;
///
/// let config = Config { api_keys: vec!["a-key".into()], ..Config::default() };
/// assert!(format!("{config:?}").contains("api_keys: [[redacted]]"));
/// assert_eq!(config.api_keys[0].expose(), "a-key");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// The value itself.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl From<&str> for Secret<String> {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Serializes the secret value itself. Only fields that name this function serialize their secret.
pub(crate) fn exposed<T: Serialize, S: Serializer>(
    secret: &Secret<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    secret.0.serialize(serializer)
}
