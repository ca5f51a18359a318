//! `kiln submit MODEL [--FIELD VALUE]...`: submits a request without waiting. `kiln task` resumes
//! the task.

use clap::{ArgMatches, Command};

use super::run;
use crate::{
    args::{model, size},
    context::Context,
    failure::Failure,
    interrupt::Interrupts,
    output::{line_on_stdout, task_json},
    plausible, preview,
    session::Session,
    submission,
};

pub const NAME: &str = "submit";

const EXAMPLES: &str = "\
Examples:
  kiln submit gen-2-pro --prompt \"a red fox\" > task.json
  kiln submit gen-2-pro --prompt \"a red fox\" | kiln task save - -o fox.png";

pub fn command() -> Command {
    run::of_models(Command::new(NAME))
        .about("Submit without waiting, and print the task as JSON for `kiln task`")
        .after_help(format!("{EXAMPLES}\n\n{}", run::MODEL_HELP))
        .subcommands(model::subcommands(&[size::arg(), preview::arg()]))
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (request, matches) = run::request(matches)?;
    plausible::check(&request)?;
    if preview::is_wanted(matches) {
        return preview::print(context, request);
    }
    let session = Session::open(context).await?;
    let interrupts = Interrupts::listen()?;
    let task = submission::submit(context, &session, request, &interrupts).await?;
    if context.globals.simulate {
        context.output.warning(
            "the task disappears with the in-process simulator; use `kiln simulate` to run one \
             that stays up",
        );
    }
    let written = line_on_stdout(&task_json(&task).to_string());
    let reference = task.reference();
    let failure = match written {
        Err(error) => {
            Failure::file("could not write the task to standard output", error).about(reference)
        }
        // The same Ctrl-C may have interrupted the program that reads the pipe, so the task is
        // reported here too.
        Ok(()) if interrupts.happened() => Failure::interrupted(reference),
        Ok(()) => return Ok(()),
    };
    Err(context.with_resume_command(failure, None))
}
