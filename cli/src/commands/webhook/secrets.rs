//! The secrets of webhooks: from the environment and from files, never from an argument.

use std::{
    env, fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{ArgAction, Args};
use imagekiln::{WEBHOOK_SECRET_VARIABLE, WebhookSecret};

use crate::failure::Failure;

/// No secret is longer, in bytes: a device without end can't fill the memory.
const LONGEST: u64 = 64 * 1024;

#[derive(Args)]
#[command(next_help_heading = "Signature")]
pub struct SecretOptions {
    /// A file with a secret; repeat it to accept several while a secret is replaced. The secret in
    /// IMAGEKILN_WEBHOOK_SECRET is accepted too. No option takes the secret itself, because other
    /// users of the machine can see arguments
    #[arg(long = "secret-file", value_name = "FILE", action = ArgAction::Append)]
    files: Vec<PathBuf>,
}

impl SecretOptions {
    /// All secrets: that of the environment, then those of the files.
    pub fn read(&self) -> Result<Vec<WebhookSecret>, Failure> {
        let files = self.files.iter().map(|path| from_file(path).map(Some));
        let all = std::iter::once(from_environment()).chain(files);
        all.filter_map(Result::transpose).collect()
    }
}

/// An empty variable counts as not set, as it does for the client.
fn from_environment() -> Result<Option<WebhookSecret>, Failure> {
    match env::var(WEBHOOK_SECRET_VARIABLE) {
        Ok(secret) => {
            Ok(Some(secret).filter(|secret| !secret.trim().is_empty()).map(WebhookSecret::from))
        }
        Err(env::VarError::NotPresent) => Ok(None),
        // The error itself quotes the secret.
        Err(env::VarError::NotUnicode(_)) => {
            Err(Failure::settings(format!("{WEBHOOK_SECRET_VARIABLE} is not valid Unicode")))
        }
    }
}

/// The newline with which editors end a file is not part of the secret.
fn from_file(path: &Path) -> Result<WebhookSecret, Failure> {
    let wrong =
        |problem: &str| Failure::settings(format!("the secret file {} {problem}", path.display()));
    let bytes = read(path).map_err(|error| {
        Failure::file(format!("the secret file {} can't be read", path.display()), error)
    })?;
    if bytes.len() as u64 > LONGEST {
        return Err(
            wrong("is larger than 64 KiB").advise("give a file that holds nothing but the secret")
        );
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
    fs::File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
