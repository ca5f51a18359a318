//! `kiln task status|wait|save REF`: resumes a task that this or another program has submitted.
//! `kiln task submit`: submits a request without waiting. `kiln task list|dismiss|resolve`: works
//! on the unfinished submissions.

mod reference;
pub mod submit;
mod unfinished;

use std::time::UNIX_EPOCH;

use clap::{ArgMatches, Args, Command, FromArgMatches as _, Subcommand};
use serde_json::json;

use self::reference::Found;
use crate::{
    args::{
        completers::{self, Submissions},
        model, options,
        output::{self, Saving},
    },
    context::Context,
    failure::Failure,
    files::target::Target,
    history::{Entry, relative},
    making::{finish, wait},
    output::reference_json,
    process::Interrupts,
    seeing::{Seeing, SeeingOptions},
    text::{Clock, now},
};
use imagekiln::{Task, journal::State};
use imagekiln_label::TemplateFields;

pub const NAME: &str = "task";

const REFERENCE: &str = "@last, @ and a number of `kiln history`, an id or its beginning, a file \
                         with the output of `kiln task submit`, `-` for standard input, or the \
                         JSON itself";

/// The commands besides `submit`.
#[derive(Subcommand)]
enum Action {
    /// Poll once and print the status; the exit code is 0 for every status
    #[command(args(options::shared(options::POLLING)))]
    #[command(mut_arg("task", |arg| arg.add(completers::submissions(Submissions::Any))))]
    Status(Reference),
    /// Wait for the final status
    #[command(args(options::shared(options::POLLING)))]
    Wait(Reference),
    /// Wait and save the picture, to the target of its submission or to --output
    #[command(args(options::of::<Saving>()), args(options::of::<SeeingOptions>()))]
    #[command(args(options::shared(options::RESUMING)))]
    Save {
        #[command(flatten)]
        reference: Reference,
        /// Accept the damaged file that an earlier attempt has kept; sends nothing
        #[arg(long)]
        damaged: bool,
    },
    /// List the unfinished submissions, newest first
    List,
    Dismiss(unfinished::Dismiss),
    #[command(args(options::shared(options::RESOLVING)))]
    Resolve(unfinished::Resolve),
}

#[derive(Args)]
struct Reference {
    #[arg(value_name = "REF", help = REFERENCE)]
    #[arg(add = completers::submissions(Submissions::UnfinishedFirst))]
    task: String,
}

/// `used` says which models of `submit` need their flags.
pub fn command(used: model::Used<'_>) -> Command {
    let command = options::group(Command::new(NAME)).subcommand(submit::command(used));
    Action::augment_subcommands(command)
        .about("Submit without waiting, and work on single tasks")
        .after_help("An id that is not in the history is polled at IMAGEKILN_BASE_URL.")
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (name, options) = matches.subcommand().ok_or_else(|| Failure::usage("no command given"))?;
    if name == submit::NAME {
        return submit::execute(context, options).await;
    }
    match Action::from_arg_matches(matches)? {
        Action::Status(Reference { task }) => status(context, &task).await,
        Action::Wait(Reference { task }) => wait_for(context, &task).await,
        Action::Save { reference: Reference { task }, damaged } => {
            save(context, &task, damaged, options).await
        }
        Action::List => unfinished::list(context),
        Action::Dismiss(options) => unfinished::dismiss(context, &options).await,
        Action::Resolve(options) => unfinished::resolve(context, options).await,
    }
}

async fn status(context: &Context, given: &str) -> Result<(), Failure> {
    let (found, _session, task) = Found::open(context, given).await?;
    let polled = context.within(task.reference(), task.poll()).await;
    let update = polled.map_err(|failure| {
        if found.is_certain() { failure } else { found.explain(context, failure, None) }
    })?;
    let status = update.status();
    context.output.result(
        || format!("{}: {status}", task.id()),
        || json!({ "id": task.id(), "status": status.as_str(), "final": status.is_final() }),
    )
}

async fn wait_for(context: &Context, given: &str) -> Result<(), Failure> {
    let (found, _session, task) = Found::open(context, given).await?;
    let interrupts = Interrupts::listen(context.process())?;
    let picture = wait(context, &task, &interrupts).await;
    let picture = picture.map_err(|failure| found.explain(context, failure, None))?;
    let expires_at =
        picture.expires_at().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).ok();
    context.output.result(
        || format!("{}: Ready; run `kiln task save` within ten minutes to save it", task.id()),
        || {
            json!({
                "task": reference_json(task.reference()),
                "status": "Ready",
                "expires_at": expires_at,
            })
        },
    )
}

async fn save(
    context: &Context,
    given: &str,
    accepts: bool,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let (found, session, task) = Found::open(context, given).await?;
    let entry = found.entry.as_ref();
    let has_output = matches.contains_id(output::OUTPUT);
    let is_saved = |entry: &Entry| matches!(entry.record.state(), State::Saved { .. });
    let unsaved = entry.filter(|entry| !has_output && !is_saved(entry));
    let target = match unsaved.and_then(|entry| remembered(context, entry, matches)) {
        Some(target) => target,
        None => filled(output::target(&context.settings, matches)?, &task, entry)?,
    };
    let explain = |failure| found.explain(context, failure, Some(&target));
    let seeing = target
        .check(context.output.json, &context.process().stdout)
        .and_then(|()| Seeing::of(context, matches, Some(&target)))
        .map_err(|failure| {
            if found.is_certain() {
                explain(failure.after_payment(task.reference()))
            } else {
                failure.before_payment()
            }
        })?;
    let about = json!({ "task": reference_json(task.reference()) });
    if accepts {
        let kept = entry.and_then(|entry| entry.record.damaged()).ok_or_else(|| {
            Failure::usage("no damaged file is known").advise("`kiln history` lists what is")
        })?;
        let here = relative(kept, &context.process().directory);
        let saved = target.accept(&here, has_output)?;
        if let Some(history) = &session.history {
            history.saved(task.reference(), &saved).await;
        }
        return seeing.present(context, &saved, &task, about).await;
    }
    let interrupts = Interrupts::listen(context.process())?;
    let request = entry.and_then(|entry| entry.kept.request.as_ref());
    let saved = finish(context, &session, (&task, request), &target, &interrupts).await;
    let saved = saved.map_err(explain)?;
    seeing.present(context, &saved, &task, about).await
}

/// Fills in the fields of a target's name, for a task that another command has submitted.
fn filled(target: Target, task: &Task, entry: Option<&Entry>) -> Result<Target, Failure> {
    let model = task.reference().operation().unwrap_or("picture");
    let (seed, prompt) =
        (entry.and_then(Entry::seed), entry.and_then(Entry::prompt).unwrap_or_default());
    let at = entry.map_or_else(now, |entry| entry.at());
    let date = Clock::local().day(at);
    let fields = TemplateFields::default();
    target.filled(&TemplateFields { index: 1, seed, prompt, model, date: &date, ..fields })
}

/// Returns the target that the command line of the submission named, with the flags of this
/// command. Returns `None` if it named none.
fn remembered(context: &Context, entry: &Entry, matches: &ArgMatches) -> Option<Target> {
    let destination = &entry.kept.destination;
    destination.output()?;
    let target = destination.target(&context.process().directory);
    let flags = ["overwrite", "mkdir", "describe"];
    let [overwrite, mkdir, describe] = flags.map(|name| matches.get_flag(name));
    Some(Target {
        overwrite: target.overwrite || overwrite,
        mkdir: target.mkdir || mkdir,
        describe: target.describe || describe,
        ..target
    })
}
