//! `kiln logout`: deletes the stored API key of a profile.

use clap::Command;

use crate::{context::Context, failure::Failure, settings::key};

pub const NAME: &str = "logout";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Delete the API key that `kiln login` stored")
        .after_help("The service still accepts the key.")
}

pub fn execute(context: &Context) -> Result<(), Failure> {
    let profile = &context.settings.profile.name;
    let path = key::path(context.settings.directory()?, profile);
    let existed = key::remove(&path).map_err(|error| {
        Failure::file(format!("could not delete {}", path.display()), error)
            .advise("delete the file yourself")
    })?;
    context.output.note(&match existed {
        true => format!("deleted the API key of profile `{profile}`"),
        false => format!("no API key of profile `{profile}` is stored"),
    });
    Ok(())
}
