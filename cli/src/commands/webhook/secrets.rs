//! The webhook secrets, which come from the environment and from files, never from an argument.

use std::{
    env, fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{ArgAction, Args};

use crate::failure::Failure;
use imagekiln::{WEBHOOK_SECRET_VARIABLE, WebhookSecret};

/// The maximum size of a secret file in bytes, so that an endless device can't exhaust the memory.
const MAX_BYTES: u64 = 64 * 1024;

#[derive(Args)]
#[command(next_help_heading = "Signature")]
pub struct SecretOptions {
    /// A file that contains a secret; repeat it to accept several while you rotate secrets. The
    /// secret in IMAGEKILN_WEBHOOK_SECRET is accepted too. There is no option for the secret
    /// itself, because other users of the machine can see arguments
    #[arg(long = "secret-file", value_name = "FILE", action = ArgAction::Append)]
    files: Vec<PathBuf>,
}

impl SecretOptions {
    /// All secrets: the one in the environment, then those in the files.
    pub fn read(&self) -> Result<Vec<WebhookSecret>, Failure> {
        let files = self.files.iter().map(|path| from_file(path).map(Some));
        let all = std::iter::once(from_environment()).chain(files);
        all.filter_map(Result::transpose).collect()
    }
}

/// Treats an empty variable as not set, as the client does.
fn from_environment() -> Result<Option<WebhookSecret>, Failure> {
    match env::var(WEBHOOK_SECRET_VARIABLE) {
        Ok(secret) => {
            Ok(Some(secret).filter(|secret| !secret.trim().is_empty()).map(WebhookSecret::from))
        }
        Err(env::VarError::NotPresent) => Ok(None),
        // The error would quote the secret.
        Err(env::VarError::NotUnicode(_)) => {
            Err(Failure::settings(format!("{WEBHOOK_SECRET_VARIABLE} is not valid Unicode")))
        }
    }
}

/// Removes the newline that editors add at the end of a file.
fn from_file(path: &Path) -> Result<WebhookSecret, Failure> {
    let wrong =
        |problem: &str| Failure::settings(format!("the secret file {} {problem}", path.display()));
    let bytes = read(path).map_err(|error| {
        Failure::file(format!("could not read the secret file {}", path.display()), error)
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong("is larger than 64 KiB").advise("pass a file with only the secret in it"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8"))?;
    let secret = text
        .strip_suffix('\n')
        .map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    match secret.trim().is_empty() {
        true => Err(wrong("is empty")),
        false => Ok(secret.into()),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
