//! The webhook secrets, which come from the environment and from files, never from an argument.

use std::{env, path::PathBuf};

use clap::{ArgAction, Args};

use crate::{failure::Failure, secret_file};
use imagekiln::{WEBHOOK_SECRET_VARIABLE, WebhookSecret};

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
        let files = self
            .files
            .iter()
            .map(|path| secret_file::read(path, "the secret file").map(|text| Some(text.into())));
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
