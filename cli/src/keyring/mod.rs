//! The keyring of the platform: the Secret Service of Linux and the BSDs, behind the feature
//! `keyring`. A build without it has the same interface, but never finds a keyring.

#[cfg(not(all(feature = "keyring", unix, not(target_os = "macos"))))]
mod absent;
#[cfg(all(feature = "keyring", unix, not(target_os = "macos")))]
mod secret_service;

use std::fmt;

#[cfg(not(all(feature = "keyring", unix, not(target_os = "macos"))))]
pub use self::absent::Keyring;
#[cfg(all(feature = "keyring", unix, not(target_os = "macos")))]
pub use self::secret_service::Keyring;

/// How long the keyring may take to respond.
const ANSWER_SECONDS: u64 = 5;

/// The name of an entry, in programs that manage keyrings.
pub fn label(profile: &str) -> String {
    format!("API key of kiln (profile {profile})")
}

/// Why the keyring could not be used.
#[derive(Debug)]
#[allow(dead_code, reason = "builds with and without a keyring fail in different ways")]
pub enum Problem {
    /// This program was built without the keyring.
    NotBuilt,
    /// There is no bus, or no keyring that responds on it. Nothing was changed.
    Unreachable(String),
    /// The keyring did not respond to a request, which it may still carry out.
    Silent,
    /// There is no default keyring.
    NoDefault,
    /// The keyring stayed locked. Nothing was changed.
    Locked,
    /// The keyring has no key of this profile.
    NoEntry,
    Failed(String),
}

impl Problem {
    /// Whether the keyring can be asked to delete what it may contain.
    pub fn may_have_stored(&self) -> bool {
        matches!(self, Self::Silent | Self::Failed(_))
    }

    /// The advice if a key can't be read. `login` is the command that stores the key again.
    pub fn advice(&self, login: &str) -> String {
        match self {
            Self::NotBuilt => format!(
                "install kiln with `cargo install --path cli --features keyring`, or run `{login}` \
                 to store the key in a file"
            ),
            Self::Locked => format!(
                "unlock the keyring and run the command again, or run `{login}` to store the key \
                 in a file"
            ),
            Self::NoEntry => format!("run `{login}` to store it again"),
            _ => format!(
                "start the keyring of your session, or run `{login}` to store the key again, in a \
                 file if there is no keyring"
            ),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt => f.write_str("this build of kiln can't use a keyring"),
            Self::Unreachable(cause) => write!(f, "no keyring is available: {cause}"),
            Self::Silent => {
                write!(f, "the keyring did not respond within {ANSWER_SECONDS} seconds")
            }
            Self::NoDefault => f.write_str("there is no default keyring"),
            Self::Locked => f.write_str("the keyring is locked"),
            Self::NoEntry => f.write_str("the keyring has no key of this profile"),
            Self::Failed(cause) => write!(f, "the keyring failed: {cause}"),
        }
    }
}
