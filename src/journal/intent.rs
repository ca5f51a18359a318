//! The part of a record that never changes: what was submitted, and what the program wanted it for.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::Key;
use crate::Request;

/// What a submission is for, in the program's own terms. A [`Journal`](super::Journal) stores the
/// origin, so that the program can match a submission to its work after a crash. The client never
/// sends the origin to the service.
///
/// ```
/// use imagekiln::journal::Origin;
///
/// let origin = Origin::new("fox-7").target("foxes/7.png");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Origin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<StoredPath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    context: Value,
    /// The digest of the request, which the client sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_sha256: Option<String>,
    /// The width and the height in pixels, which the client copies from the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    height: Option<i64>,
    /// The idempotency key, which the client sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
}

impl Origin {
    /// Creates an origin with a label that the program chooses, for example the name of a job.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..Self::default() }
    }

    /// Sets the path at which the program intends to save the picture. The client only stores this
    /// path, and does not write to it.
    pub fn target(mut self, path: impl Into<PathBuf>) -> Self {
        self.target = Some(StoredPath(path.into()));
        self
    }

    /// Sets the group of the submission: a user, an order or a campaign. A journal can limit what
    /// each group costs.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Attaches a value of any type that the program chooses, which [`Intent::context`] returns.
    /// The journal stores the value as plain JSON, so it must not contain secrets. A value that
    /// cannot be serialized to JSON is dropped.
    pub fn context(mut self, value: &impl Serialize) -> Self {
        self.context = serde_json::to_value(value).unwrap_or_default();
        self
    }

    pub(crate) fn of_key(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    pub(crate) fn of_request(self, request: &Request) -> Self {
        let [width, height] = ["width", "height"].map(|side| request.integer(side));
        Self { request_sha256: request.digest().ok(), width, height, ..self }
    }
}

impl<T: Into<String>> From<T> for Origin {
    fn from(label: T) -> Self {
        Self::new(label)
    }
}

/// A submission that is about to be sent or was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    id: String,
    operation: String,
    /// Seconds since the Unix epoch.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<Account>,
    #[serde(flatten)]
    origin: Origin,
}

impl Intent {
    pub(crate) fn new(operation: &str, at: SystemTime, account: Account, origin: Origin) -> Self {
        let mut random = fastrand::Rng::new();
        Self {
            id: format!("{:016x}{:016x}", random.u64(..), random.u64(..)),
            operation: operation.to_owned(),
            at: seconds(at),
            account: Some(account),
            origin,
        }
    }

    /// Returns the unique id of the submission: 32 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name of the operation, such as `gen-2-pro`.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Returns the time at which the client was about to send the submission, in whole seconds.
    pub fn at(&self) -> SystemTime {
        time(self.at)
    }

    pub(crate) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Returns the base URL that the submission was sent to. Only this service knows its task.
    /// `None` if an earlier version of this crate wrote the record.
    pub fn service(&self) -> Option<&str> {
        self.account.as_ref().map(|account| &*account.service)
    }

    /// Returns the label that the program gave the submission; see [`Origin::new`].
    pub fn label(&self) -> Option<&str> {
        self.origin.label.as_deref()
    }

    /// Returns the path at which the program intends to save the picture, if it has set one; see
    /// [`Origin::target`].
    pub fn target(&self) -> Option<&Path> {
        self.origin.target.as_ref().map(|path| &*path.0)
    }

    /// Returns the group of the submission, if it has one; see [`Origin::group`].
    pub fn group(&self) -> Option<&str> {
        self.origin.group.as_deref()
    }

    /// Returns the [digest](crate::Request::digest) of the request. `None` if the request has no
    /// stored form, or if an earlier version of this crate wrote the record.
    pub fn request_sha256(&self) -> Option<&str> {
        self.origin.request_sha256.as_deref()
    }

    /// Returns the width of the picture in pixels, if the request sets `width`.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn width(&self) -> Option<i64> {
        self.origin.width
    }

    /// Returns the height of the picture in pixels, if the request sets `height`.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn height(&self) -> Option<i64> {
        self.origin.height
    }

    /// Returns the idempotency key, if the submission has one; see
    /// [`Client::submit_once`](crate::Client::submit_once).
    pub fn key(&self) -> Option<&Key> {
        self.origin.key.as_ref()
    }

    /// Returns the value that the program attached; see [`Origin::context`]. `None` if there is no
    /// value, or if it cannot be deserialized as a `T`.
    pub fn context<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(&self.origin.context).ok()
    }
}

/// The service and the API key of a submission.
///
/// Each record contains the account, so that a client can tell whether it may continue the task.
/// Only the service that accepted a task knows the task, and the client must not send its API key
/// to any other service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The base URL without user information.
    service: String,
    /// Random, so that two records of one key have different fingerprints.
    salt: u32,
    /// The first 32 bits of the SHA-256 digest of the salt and the key. They are enough to compare
    /// keys, and too few to recover the key.
    key: u32,
}

impl Account {
    pub(crate) fn new(service: &Url, key: &[u8]) -> Self {
        let salt = fastrand::u32(..);
        Self { service: service.to_string(), salt, key: fingerprint(salt, key) }
    }

    pub(crate) fn has_key(&self, key: &[u8]) -> bool {
        self.key == fingerprint(self.salt, key)
    }
}

fn fingerprint(salt: u32, key: &[u8]) -> u32 {
    let digest = Sha256::new().chain_update(salt.to_be_bytes()).chain_update(key).finalize();
    digest.iter().take(4).fold(0, |bits, byte| bits << 8 | u32::from(*byte))
}

pub(super) fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Converts seconds since the Unix epoch. A file may contain any number, so a number that a
/// `SystemTime` cannot represent becomes the epoch instead of a panic.
pub(super) fn time(seconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH)
}

/// A path in a record. A path that is valid Unicode is stored as text. Any other path is stored as
/// an `OsString`, because JSON text cannot represent it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct StoredPath(#[serde(with = "stored_path")] pub(super) PathBuf);

pub(super) mod stored_path {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
    };

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Text(String),
        Raw(OsString),
    }

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => path.as_os_str().serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Stored::deserialize(from)? {
            Stored::Text(text) => text.into(),
            Stored::Raw(raw) => raw.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_knows_its_key_without_containing_it() {
        let service = Url::parse("https://api.example.com").unwrap();
        let account = Account::new(&service, b"key-of-anna");
        assert!(account.has_key(b"key-of-anna"));
        assert!(!account.has_key(b"key-of-berta"));
        let text = serde_json::to_string(&account).unwrap();
        assert!(!text.contains("anna"), "{text}");
        assert_eq!(serde_json::from_str::<Account>(&text).unwrap(), account);
        assert_ne!(Account::new(&service, b"key-of-anna"), account, "the salt differs");
    }
}
