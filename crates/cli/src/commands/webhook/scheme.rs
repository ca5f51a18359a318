//! The signature scheme of webhooks: the options that `kiln webhook listen`, `kiln webhook verify`
//! and `kiln batch run` share, and the verifier that is built from them.

use std::{path::PathBuf, time::Duration};

use clap::{
    ArgAction, Args, ValueEnum, ValueHint,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::MAX_BODY;
use crate::{
    failure::Failure, files::read_secret, process::Process, settings::text, text::duration,
};
use imagekiln::{
    Secret, WEBHOOK_SECRET_VARIABLE,
    webhook::{Encoding, Verifier},
};

/// The places where secrets are set, as advice about a secret names them.
const SECRETS: &str = "--secret-file or IMAGEKILN_WEBHOOK_SECRET";

/// The details of a webhook's signature, which the contract does not list.
#[derive(Args)]
#[command(next_help_heading = "Signature")]
pub struct SchemeOptions {
    /// How the service signs: an HMAC-SHA256 of the body, the secret itself in a header, or
    /// Standard Webhooks
    #[arg(long, value_name = "SCHEME", value_enum, default_value = "hmac-sha256")]
    scheme: Scheme,
    /// The header that contains the signature or the secret [default: x-webhook-signature, or
    /// webhook-signature for standard]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    signature_header: Option<String>,
    /// The header that contains the message id of the standard scheme [default: webhook-id]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    id_header: Option<String>,
    /// The header that contains the timestamp of the standard scheme [default: webhook-timestamp]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    timestamp_header: Option<String>,
    /// The text before the signature or the secret in its header [default: `sha256=` for
    /// hmac-sha256, otherwise none]
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    prefix: Option<String>,
    /// The encoding of an hmac-sha256 signature [default: hex]
    #[arg(long, value_name = "ENCODING", value_parser = encoding(), hide_short_help = true)]
    encoding: Option<Encoding>,
    /// The maximum age of a webhook of the standard scheme [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = duration, hide_short_help = true)]
    max_age: Option<Duration>,
    /// Where the body contains the task id, as a JSON pointer such as /data/id [default: `task_id`
    /// or `id`, at the top level or in `data`, `task`, `response` or `result`]
    #[arg(long, value_name = "POINTER", value_parser = pointer, hide_short_help = true)]
    task_id: Option<String>,
    /// A file that contains a secret; repeat it to accept several while you rotate secrets. The
    /// secret in IMAGEKILN_WEBHOOK_SECRET is accepted too. There is no option for the secret
    /// itself, because other users of the machine can see arguments
    #[arg(long = "secret-file", value_name = "FILE", action = ArgAction::Append)]
    #[arg(value_hint = ValueHint::FilePath)]
    secret_files: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scheme {
    HmacSha256,
    SharedSecret,
    Standard,
}

impl SchemeOptions {
    /// Builds the verifier, and returns it with the secret with which the service signs the
    /// webhooks of new submissions. Without a secret, the verifier verifies nothing, but the
    /// settings are still checked.
    pub fn verifier(&self, process: &Process) -> Result<(Verifier, Option<Secret>), Failure> {
        let mut secrets = self.secrets(process)?.into_iter();
        let Some(first) = secrets.next() else {
            return Ok((self.with_settings("verifies nothing".into())?, None));
        };
        let verifier = secrets.fold(self.with_settings(first.clone())?, Verifier::also_accept);
        Ok((self.checked(verifier, SECRETS)?, Some(first)))
    }

    fn with_settings(&self, secret: Secret) -> Result<Verifier, Failure> {
        let mut verifier = match self.scheme {
            Scheme::HmacSha256 => Verifier::hmac_sha256(secret),
            Scheme::SharedSecret => Verifier::shared_secret(secret),
            Scheme::Standard => Verifier::standard(secret),
        }
        .max_body_bytes(MAX_BODY);
        verifier = self.checked(verifier, SECRETS)?;
        if let Some(name) = &self.signature_header {
            verifier = self.checked(verifier.header(name), "--signature-header")?;
        }
        if let Some(name) = &self.id_header {
            verifier = self.checked(verifier.id_header(name), "--id-header")?;
        }
        if let Some(name) = &self.timestamp_header {
            verifier = self.checked(verifier.timestamp_header(name), "--timestamp-header")?;
        }
        if let Some(prefix) = &self.prefix {
            verifier = self.checked(verifier.prefix(prefix), "--prefix")?;
        }
        if let Some(encoding) = self.encoding {
            verifier = self.checked(verifier.encoding(encoding), "--encoding")?;
        }
        if let Some(age) = self.max_age {
            verifier = self.checked(verifier.max_age(age), "--max-age")?;
        }
        Ok(match &self.task_id {
            Some(pointer) => verifier.task_id(pointer),
            None => verifier,
        })
    }

    /// Returns the verifier, unless a setting does not fit the scheme. The failure names `flag`,
    /// the option that was set last.
    fn checked(&self, verifier: Verifier, flag: &str) -> Result<Verifier, Failure> {
        let Err(refusal) = verifier.check() else { return Ok(verifier) };
        let scheme = self.scheme.to_possible_value().map(|value| value.get_name().to_owned());
        Err(Failure::settings(format!("could not set up the verification of webhooks: {refusal}"))
            .advise(format!(
                "correct or remove {flag}, or choose a --scheme other than {}",
                scheme.unwrap_or_default()
            )))
    }

    /// Returns all secrets: the one in the environment, then those in the files.
    fn secrets(&self, process: &Process) -> Result<Vec<Secret>, Failure> {
        let of_variable = text(process, WEBHOOK_SECRET_VARIABLE);
        let of_variable = of_variable.map(|secret| secret.map(Secret::from));
        let files = self
            .secret_files
            .iter()
            .map(|path| read_secret(path, "the secret file").map(|text| Some(text.into())));
        let all = std::iter::once(of_variable).chain(files);
        all.filter_map(Result::transpose).collect()
    }
}

fn encoding() -> impl TypedValueParser<Value = Encoding> {
    PossibleValuesParser::new(["hex", "base64"]).map(|name| match &*name {
        "hex" => Encoding::Hex,
        _ => Encoding::Base64,
    })
}

/// A JSON pointer (RFC 6901).
fn pointer(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("use a JSON pointer, such as /data/id".to_owned())
    }
}
