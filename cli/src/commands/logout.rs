//! `kiln logout`: deletes the stored API key of a profile.

use clap::Command;

use crate::{context::Context, failure::Failure};

pub const NAME: &str = "logout";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Delete the API key that `kiln login` stored")
        .after_help("The service still accepts the key.")
}

pub async fn execute(context: &Context) -> Result<(), Failure> {
    let profile = &context.settings.profile.name;
    let existed = context.settings.stored()?.delete(&context.output).await?;
    let note = if existed {
        format!("deleted the API key of profile `{profile}`")
    } else {
        format!("no API key of profile `{profile}` is stored")
    };
    context.output.note(&note);
    Ok(())
}
