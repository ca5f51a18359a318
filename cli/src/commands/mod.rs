//! The commands, one per file: their arguments and what they do.

#[cfg(feature = "batch")]
pub mod batch;
#[cfg(not(feature = "batch"))]
#[path = "without_batch.rs"]
pub mod batch;
pub mod by_task;
pub mod completions;
pub mod config;
pub mod doctor;
pub mod edit;
pub mod generate;
pub mod history;
pub mod login;
pub mod logout;
pub mod man;
pub mod models;
pub mod resume;
pub mod run;
pub mod simulate;
pub mod submit;
pub mod task;
pub mod webhook;

use clap::ArgMatches;

use crate::{context::Context, exit::Exit, failure::Failure};

/// Whether a command can't work if `config.toml` is damaged.
pub fn needs_settings(command: &str) -> bool {
    const WITHOUT: [&str; 10] = [
        login::NAME,
        logout::NAME,
        config::NAME,
        doctor::NAME,
        history::NAME,
        webhook::NAME,
        models::NAME,
        simulate::NAME,
        completions::NAME,
        man::NAME,
    ];
    !WITHOUT.contains(&command)
}

/// Executes a command, and returns its exit code.
pub async fn execute(
    context: &Context,
    command: &str,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let done = match command {
        simulate::NAME => return simulate::execute(context, matches).await,
        doctor::NAME => return doctor::execute(context).await,
        generate::NAME => generate::execute(context, matches).await,
        edit::NAME => edit::execute(context, matches).await,
        run::NAME => run::execute(context, matches).await,
        submit::NAME => submit::execute(context, matches).await,
        batch::NAME => batch::execute(context, matches).await,
        task::NAME => task::execute(context, matches).await,
        resume::NAME => resume::execute(context, matches).await,
        history::NAME => history::execute(context, matches),
        webhook::NAME => webhook::execute(context, matches).await,
        models::NAME => models::execute(context, matches),
        login::NAME => login::execute(context).await,
        logout::NAME => logout::execute(context).await,
        config::NAME => config::execute(context, matches).await,
        completions::NAME => completions::execute(context, matches),
        man::NAME => man::execute(context, matches),
        other => match by_task::find(other) {
            Some(task) => by_task::execute(context, task, matches).await,
            None => Err(Failure::usage(format!("unknown command `{other}`"))),
        },
    };
    done.map(|()| Exit::Success.code())
}
