//! `kiln task submit MODEL [--FIELD VALUE]...`: submits a request without waiting.

use clap::{ArgMatches, Command};

use crate::{
    args::{model, options, output},
    commands::run,
    context::Context,
    failure::Failure,
    files::target::Place,
    making::{self, Submitted, dry_run::DryRun, keyed::KeyOptions},
    output::task_json,
    process::Interrupts,
    text::json,
};

pub const NAME: &str = "submit";

const EXAMPLES: &str = "\
Examples:
  kiln task submit gen-2-pro --prompt \"a red fox\" > task.json
  kiln task submit gen-2-pro --prompt \"a red fox\" | kiln task save - -o fox.png";

pub fn command(used: model::Used<'_>) -> Command {
    run::of_models(Command::new(NAME))
        .about("Submit without waiting, and print the task as JSON for `kiln task`")
        .after_help(format!("{EXAMPLES}\n\n{}", run::MODEL_HELP))
        .subcommands(model::subcommands(
            used,
            &[
                options::of::<output::Saving>(),
                options::of::<KeyOptions>(),
                options::of::<options::FieldOptions>(),
                options::of::<DryRun>(),
                options::shared(options::SUBMITTING),
            ]
            .concat(),
        ))
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (request, matches) = run::request(context, matches)?;
    if output::target(&context.settings, matches)?.place == Place::Stdout {
        return Err(Failure::usage(
            "`kiln task submit` can't write the picture to standard output",
        )
        .advise("nothing was sent; pass a file to --output"));
    }
    let Some(mut planned) = making::checked(context, request.into(), matches)? else {
        return Ok(());
    };
    let session = making::open(context, &planned).await?;
    let Some(planned) = planned.pop() else { return Ok(()) };
    let seed = planned.seed();
    let interrupts = Interrupts::listen(context.process())?;
    let submitting = making::submit(context, &session, (0, &planned, None), &interrupts);
    let Submitted { task, .. } = submitting.await?;
    if context.shared.simulate {
        context.output.warning(
            "the task disappears with the in-process simulator; use `kiln simulate` to run one \
             that stays up",
        );
    }
    let line = json::with(task_json(&task), [("seed", seed.into())]);
    let written = context.process().line_on_stdout(&line.to_string());
    let reference = task.reference();
    let failure = match written {
        Err(error) => {
            Failure::file("could not write the task to standard output", error).about(reference)
        }
        // The same Ctrl-C may have ended the program that reads the pipe before it read the task,
        // so standard error reports the task, too.
        Ok(()) if interrupts.happened() => Failure::interrupted(reference),
        Ok(()) => return Ok(()),
    };
    Err(context.with_resume_command(failure, None, session.submission(0).as_ref()))
}
