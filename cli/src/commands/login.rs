//! `kiln login`: stores the API key of a profile.

use std::{
    env,
    io::{self, IsTerminal},
};

use clap::Command;
use serde_json::json;

use crate::{
    context::Context,
    failure::Failure,
    hidden, secret_file,
    settings::key::{self, API_KEY_FILE_VARIABLE},
};
use imagekiln::API_KEY_VARIABLE;

pub const NAME: &str = "login";

pub fn command() -> Command {
    Command::new(NAME).about("Store the API key in a file that only you can read").after_help(
        "Asks for the key without showing it, or reads it from standard input if that is not\n\
             a terminal. Each --profile has a key of its own. `kiln config` shows which key is in\n\
             effect, and `kiln doctor` whether the service accepts it.",
    )
}

pub async fn execute(context: &Context) -> Result<(), Failure> {
    if context.globals.simulate {
        return Err(Failure::usage("an in-process simulator has a key of its own")
            .advise("remove --simulate"));
    }
    let profile = &context.settings.profile.name;
    let path = key::path(context.settings.directory()?, profile);
    let key = read(profile).await?;
    key::store(&path, &key).map_err(|error| {
        Failure::file(format!("could not store the API key in {}", path.display()), error)
    })?;
    for variable in [API_KEY_VARIABLE, API_KEY_FILE_VARIABLE] {
        if env::var_os(variable).is_some_and(|value| !value.is_empty()) {
            context.output.warning(&format!("{variable} is set, and precedes the stored key"));
        }
    }
    context.output.result(
        || format!("stored the API key of profile `{profile}` in {}", path.display()),
        || json!({ "profile": profile, "path": path }),
    )
}

/// Reads the key. Errors never quote it.
async fn read(profile: &str) -> Result<String, Failure> {
    let text = match io::stdin().is_terminal() {
        true => ask(profile).await?,
        false => secret_file::read_stdin()?,
    };
    let key = text.trim();
    match key::is_key(key) {
        true => Ok(key.to_owned()),
        false => Err(Failure::settings("the input is not an API key")
            .advise("nothing was stored; a key is one line of visible characters without spaces")),
    }
}

/// Asks for the key on the terminal, which does not show it.
async fn ask(profile: &str) -> Result<String, Failure> {
    if !io::stderr().is_terminal() {
        return Err(Failure::usage("could not ask for the key: standard error is not a terminal")
            .advise("pipe the key into `kiln login`"));
    }
    hidden::ask(&format!("API key of profile `{profile}`")).await
}
