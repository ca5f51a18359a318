//! `kiln login` and `logout`: store the API key of a profile, and delete it.

use clap::Command;
use serde_json::json;

use crate::{
    context::Context,
    failure::Failure,
    files::secret_file,
    process::{Process, password},
    settings::key::{self, API_KEY_FILE_VARIABLE},
};
use imagekiln::API_KEY_VARIABLE;

pub const LOGIN: &str = "login";
pub const LOGOUT: &str = "logout";

const WHERE: &str = "\
Asks for the key without showing it, or reads it from standard input if that is not
a terminal, and says in which file it stored it. Each --profile has a key of its
own. `kiln config` shows which key is in effect, and `kiln doctor` whether the
service accepts it.";

pub fn commands() -> [Command; 2] {
    [
        Command::new(LOGIN).about("Store the API key where only you can read it").after_help(WHERE),
        Command::new(LOGOUT)
            .about("Delete the API key that `kiln login` stored")
            .after_help("The service still accepts the key."),
    ]
}

pub async fn login(context: &Context) -> Result<(), Failure> {
    let profile = &context.settings.profile.name;
    let stored = context.settings.stored()?;
    let key = read(context.process(), profile).await?;
    stored.put(&key)?;
    for variable in [API_KEY_VARIABLE, API_KEY_FILE_VARIABLE] {
        if context.process().variable(variable).is_some() {
            context.output.warning(&format!("{variable} is set, and precedes the stored key"));
        }
    }
    let file = stored.file();
    context.output.result(
        || format!("stored the API key of profile `{profile}` in {}", file.display()),
        || json!({ "profile": profile, "place": "file", "path": file }),
    )
}

pub fn logout(context: &Context) -> Result<(), Failure> {
    let profile = &context.settings.profile.name;
    let note = if context.settings.stored()?.delete()? {
        format!("deleted the API key of profile `{profile}`")
    } else {
        format!("no API key of profile `{profile}` is stored")
    };
    context.output.note(&note);
    Ok(())
}

/// Reads the key. Errors never quote it.
async fn read(process: &Process, profile: &str) -> Result<String, Failure> {
    let text = if process.stdin.is_terminal {
        ask(process, profile).await?
    } else {
        secret_file::read_stdin(process)?
    };
    let key = text.trim();
    key::check(key, "the input").map_err(|failure| {
        let advice = failure.advice.clone().unwrap_or_default();
        failure.advise(format!("nothing was stored; {advice}"))
    })?;
    Ok(key.to_owned())
}

/// Asks for the key on the terminal, which does not show it.
async fn ask(process: &Process, profile: &str) -> Result<String, Failure> {
    if !process.stderr.is_terminal {
        return Err(Failure::usage("could not ask for the key: standard error is not a terminal")
            .advise("pipe the key into `kiln login`"));
    }
    password::ask(process, &format!("API key of profile `{profile}`")).await
}
