//! `kiln config login` and `logout`: store the API key of a profile, and delete it.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    context::Context,
    failure::Failure,
    files::read_secret_from_stdin,
    process::{Interrupts, question},
    settings::key::{self, API_KEY_FILE_VARIABLE},
};
use imagekiln::API_KEY_VARIABLE;

pub const WHERE: &str = "\
    Asks for the key without showing it, or reads it from standard input if that is not a \
    terminal, and says in which file it stored it. Each --profile has a key of its own. `kiln \
    config` shows which key is in effect, and `kiln doctor` whether the service accepts it.";

pub async fn login(context: &Context) -> Result<(), Failure> {
    let process = context.process();
    let profile = &context.settings.profile.name;
    let text = if !process.stdin.is_terminal {
        read_secret_from_stdin(process)?
    } else if question::can_ask(process) {
        let interrupts = Interrupts::listen(process)?;
        let question = format!("API key of profile `{profile}`");
        question::ask(process, &interrupts, &question, true).await?
    } else {
        let problem = "could not ask for the key: standard error is not a terminal";
        return Err(Failure::usage(problem).advise("pipe the key into `kiln config login`"));
    };
    let file = store(context, &parse(&text)?)?;
    context.output.result(
        || format!("stored the API key of profile `{profile}` in {}", file.display()),
        || json!({ "profile": profile, "place": "file", "path": file }),
    )
}

/// Checks a typed or piped key, and returns it without the blanks around it. Errors never quote the
/// key.
pub fn parse(text: &str) -> Result<String, Failure> {
    let key = text.trim();
    key::check(key, "the input").map_err(|failure| {
        let advice = failure.advice.clone().unwrap_or_default();
        failure.advise(format!("nothing was stored; {advice}"))
    })?;
    Ok(key.to_owned())
}

/// Stores the key of the profile, and returns the path of its file. Warns if a variable precedes
/// the stored key.
pub fn store(context: &Context, key: &str) -> Result<PathBuf, Failure> {
    let file = context.settings.key_file()?;
    key::store(&file, key)?;
    for variable in [API_KEY_VARIABLE, API_KEY_FILE_VARIABLE] {
        if context.process().variable(variable).is_some() {
            context.output.warning(&format!("{variable} is set, and precedes the stored key"));
        }
    }
    Ok(file)
}

pub fn logout(context: &Context) -> Result<(), Failure> {
    let profile = &context.settings.profile.name;
    let note = if key::delete(&context.settings.key_file()?)? {
        format!("deleted the API key of profile `{profile}`")
    } else {
        format!("no API key of profile `{profile}` is stored")
    };
    context.output.note(&note);
    Ok(())
}
