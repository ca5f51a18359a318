//! The webhook secrets, which come from the environment and from files, never from an argument.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::{failure::Failure, process::Process, secret_file, settings::text};
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
    pub fn read(&self, process: &Process) -> Result<Vec<WebhookSecret>, Failure> {
        let of_variable = text(process, WEBHOOK_SECRET_VARIABLE);
        let of_variable = of_variable.map(|secret| secret.map(WebhookSecret::from));
        let files = self
            .files
            .iter()
            .map(|path| secret_file::read(path, "the secret file").map(|text| Some(text.into())));
        let all = std::iter::once(of_variable).chain(files);
        all.filter_map(Result::transpose).collect()
    }
}
