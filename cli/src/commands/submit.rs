//! `kiln submit MODEL [--FIELD VALUE]...`: the first half of `run`; the task is taken up again with
//! `kiln task`.

use clap::{ArgMatches, Command};

use super::run;
use crate::{
    args::model,
    context::Context,
    failure::Failure,
    interrupt::Interrupts,
    session::Session,
    submission,
    voice::{line_on_stdout, task_json},
};

pub const NAME: &str = "submit";

pub fn command() -> Command {
    run::of_models(Command::new(NAME))
        .about("Submit only, and print the task as JSON, for `kiln task`")
        .subcommands(model::subcommands(&[]))
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (request, _) = run::request(matches)?;
    let session = Session::open(&context.globals).await?;
    let interrupts = Interrupts::listen()?;
    let task = submission::submit(context, &session, request, &interrupts).await?;
    if context.globals.simulate {
        context.voice.warning(
            "the task is gone with the simulator inside this process; `kiln simulate` runs one that stays",
        );
    }
    let written = line_on_stdout(&task_json(&task).to_string());
    let reference = task.reference();
    let failure = match written {
        Err(error) => {
            Failure::file("the task can't be written to standard output", error).about(reference)
        }
        // What stands behind a pipe may have been interrupted by the same press, so the task is
        // told here too.
        Ok(()) if interrupts.happened() => Failure::interrupted(reference),
        Ok(()) => return Ok(()),
    };
    Err(context.with_take_up(failure, None))
}
