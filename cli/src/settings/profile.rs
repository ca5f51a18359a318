//! Profiles: sets of settings, each with its own API key.

use super::Source;
use crate::{failure::Failure, process::Process};

/// The variable for the profile of commands without `--profile`.
pub const PROFILE_VARIABLE: &str = "KILN_PROFILE";

/// The profile of commands that name none.
pub const DEFAULT: &str = "default";

/// The maximum length of a name in bytes.
const LONGEST: usize = 64;

/// The profile of a command.
#[derive(Debug, Clone)]
pub struct Profile {
    pub name: String,
    /// The setting that names it.
    pub source: Source,
}

impl Profile {
    /// The profile that `--profile` names, or the environment, or the default.
    pub fn chosen(process: &Process, flag: Option<&str>) -> Result<Self, Failure> {
        let (name, source) = match (flag, process.variable(PROFILE_VARIABLE)) {
            (Some(name), _) => (name.to_owned(), Source::Flag("--profile")),
            (None, Some(name)) => {
                (name.to_string_lossy().into_owned(), Source::Variable(PROFILE_VARIABLE))
            }
            (None, None) => (DEFAULT.to_owned(), Source::Default),
        };
        if is_valid(&name) {
            Ok(Self { name, source })
        } else {
            Err(Failure::settings(format!("{source} is not the name of a profile")).advise(RULE))
        }
    }

    /// The profile whose part of `config.toml` is edited. `None` for the part of all profiles.
    pub fn section(&self) -> Option<&str> {
        (self.name != DEFAULT).then_some(&*self.name)
    }
}

/// The rule for names of profiles. They are also file names, on file systems that ignore case too.
pub const RULE: &str = "a name has 1 to 64 lowercase letters, digits, `-` and `_`";

pub fn is_valid(name: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_plain)
}
