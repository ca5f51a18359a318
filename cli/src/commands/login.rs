//! `kiln login`: stores the API key of a profile.

use clap::Command;
use serde_json::json;

use crate::{
    context::Context,
    failure::Failure,
    files::secret_file,
    keyring::{self, Keyring, Problem},
    output::Output,
    process::{Process, interrupt::Interrupts, password},
    settings::{
        key::{self, API_KEY_FILE_VARIABLE},
        stored::Stored,
    },
};
use imagekiln::API_KEY_VARIABLE;

pub const NAME: &str = "login";

const WHERE: &str = "\
Asks for the key without showing it, or reads it from standard input if that is not
a terminal, and says where it stored it: in the keyring of the desktop, if this build
can use one and one responds, and otherwise in a file. Each --profile has a key of
its own. `kiln config` shows which key is in effect, and `kiln doctor` whether the
service accepts it.";

pub fn command() -> Command {
    Command::new(NAME).about("Store the API key where only you can read it").after_help(WHERE)
}

pub async fn execute(context: &Context) -> Result<(), Failure> {
    if context.globals.simulate {
        return Err(Failure::usage("an in-process simulator has a key of its own")
            .advise("remove --simulate"));
    }
    let profile = &context.settings.profile.name;
    let stored = context.settings.stored()?;
    let key = read(context.process(), profile).await?;
    let is_in_keyring = store(&stored, &key, &context.output).await?;
    for variable in [API_KEY_VARIABLE, API_KEY_FILE_VARIABLE] {
        if context.process().variable(variable).is_some() {
            context.output.warning(&format!("{variable} is set, and precedes the stored key"));
        }
    }
    let done = format!("stored the API key of profile `{profile}` in");
    if is_in_keyring {
        context.output.result(
            || format!("{done} the keyring, as `{}`", keyring::label(profile)),
            || json!({ "profile": profile, "place": "keyring" }),
        )
    } else {
        context.output.result(
            || format!("{done} {}", stored.file().display()),
            || json!({ "profile": profile, "place": "file", "path": stored.file() }),
        )
    }
}

/// Stores the key in the keyring, or else in the file. Returns whether it is in the keyring.
async fn store(stored: &Stored, key: &str, output: &Output) -> Result<bool, Failure> {
    let interrupts = Interrupts::listen(&output.process)?;
    let opened = tokio::select! {
        biased;
        () = interrupts.first() => return Err(Failure::interrupted_input()),
        opened = open(output) => opened,
    };
    let problem = match opened {
        Ok(keyring) => match stored.put_in_keyring(&keyring, key, output).await? {
            Ok(()) => return Ok(true),
            Err(problem) => problem,
        },
        Err(problem) => problem,
    };
    if !matches!(problem, Problem::NotBuilt) {
        output.note(&format!("{problem}; storing the key in a file instead"));
    }
    let was_in_keyring = stored.put_in_file(key)?;
    let may_be_left = if problem.may_have_stored() {
        stored.delete_entry(output).await.is_err()
    } else {
        was_in_keyring
    };
    if may_be_left {
        output.warning(&format!(
            "the keyring may still contain `{}`, which is no longer used; delete it there",
            keyring::label(stored.profile())
        ));
    }
    Ok(false)
}

/// Opens and unlocks the keyring, before anything is changed.
async fn open(output: &Output) -> Result<Keyring, Problem> {
    let keyring = Keyring::open().await?;
    keyring.unlock(output).await?;
    Ok(keyring)
}

/// Reads the key. Errors never quote it.
async fn read(process: &Process, profile: &str) -> Result<String, Failure> {
    let text = if process.stdin.is_terminal {
        ask(process, profile).await?
    } else {
        secret_file::read_stdin(process)?
    };
    let key = text.trim();
    if key::is_key(key) {
        Ok(key.to_owned())
    } else {
        Err(Failure::settings("the input is not an API key")
            .advise("nothing was stored; a key is one line of visible characters without spaces"))
    }
}

/// Asks for the key on the terminal, which does not show it.
async fn ask(process: &Process, profile: &str) -> Result<String, Failure> {
    if !process.stderr.is_terminal {
        return Err(Failure::usage("could not ask for the key: standard error is not a terminal")
            .advise("pipe the key into `kiln login`"));
    }
    password::ask(process, &format!("API key of profile `{profile}`")).await
}
