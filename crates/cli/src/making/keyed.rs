//! `--key`: a picture with a name that the user chooses. The picture is paid for once, whatever
//! happens to the commands that ask for it. A name means the same picture here and in a batch, with
//! the same seed.

use clap::{ArgMatches, Args, FromArgMatches as _, value_parser};

use crate::{
    context::Context,
    failure::{Failure, settle},
    files::target::Place,
    history::{self, Entry, find},
    service::Session,
};
use imagekiln::{ErrorKind, Task, journal::Key};

#[derive(Debug, Clone, Args)]
pub struct KeyOptions {
    /// Pay at most once for the picture with this name: another command with it finds what became
    /// of the picture
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    key: Option<String>,
    /// Ask for the picture of --key again, which failed or has expired: the number of the attempt,
    /// such as 2
    #[arg(long, value_name = "N", hide_short_help = true, requires = "key")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    attempt: Option<u32>,
}

/// Reads the key of a command. Refuses a target where a later command cannot find the picture.
pub fn key(context: &Context, matches: &ArgMatches, place: &Place) -> Result<Option<Key>, Failure> {
    let KeyOptions { key, attempt } = KeyOptions::from_arg_matches(matches)?;
    let Some(name) = key else { return Ok(None) };
    let refused = |problem: &str, advice: &str| {
        Err(Failure::usage(problem).advise(format!("nothing was sent; {advice}")))
    };
    if matches!(place, Place::Stdout | Place::Special(_)) {
        let problem = "a picture on standard output or a device cannot be found again by --key";
        return refused(problem, "pass a file or a directory to --output");
    }
    if !context.records()? && !context.shared.simulate {
        return refused("--key needs the history", "remove --no-history");
    }
    Ok(Some(Key::new(name).attempt(attempt.unwrap_or(1))))
}

/// Returns the key of a picture of the command. If the command makes several, adds the number of
/// the picture.
pub fn nth(key: &Key, index: usize, count: usize) -> Key {
    let number = if count > 1 { format!("/{}", index + 1) } else { String::new() };
    Key::new(format!("{}{number}", key.name())).attempt(key.number())
}

/// Tells the user that a task was submitted before, and continues it with this command.
pub async fn continue_earlier(
    context: &Context,
    session: &Session,
    task: &Task,
) -> Result<(), Failure> {
    let Some(entry) = find::by_task(context.process(), task.reference())? else { return Ok(()) };
    let number = entry.number;
    context.output.note(&format!("@{number} has the key, so nothing was sent"));
    match &session.history {
        Some(history) => history.claim(&entry).await.map(drop),
        None => Ok(()),
    }
}

/// Adds to the failure of a picture with a key what the history knows about its submission, and
/// what the user can do. `is_new`: whether this command has submitted the picture.
pub fn explained(
    context: &Context,
    session: &Session,
    (key, is_new): (&Key, bool),
    mut failure: Failure,
) -> Failure {
    let ended = [
        ErrorKind::TaskFailed,
        ErrorKind::Moderated,
        ErrorKind::TaskNotFound,
        ErrorKind::Expired,
        ErrorKind::Undecided,
    ];
    if !ended.into_iter().any(|kind| failure.is(kind)) {
        return failure;
    }
    let is_its = |entry: &Entry| {
        let own = entry.record.intent().key();
        own.is_some_and(|own| {
            (own.name(), own.number()) == (key.name(), key.number())
                && own.service() == session.client.base_url()
        })
    };
    let entries = history::read(context.process()).into_iter().flatten();
    let Some(entry) = entries.flatten().find(is_its) else { return failure };
    failure.number = Some(entry.number);
    let name = format!("@{}", entry.number);
    if failure.billing_unknown {
        return failure.advise(format!("nothing was sent now; {}", settle(&[name], None)));
    }
    if let Some(path) = entry.saved_path().filter(|_| failure.is(ErrorKind::Expired)) {
        failure.resume_command = None;
        return failure.advise(format!(
            "it was saved as {}, which is gone or has changed; it is paid: look for the file",
            path.display()
        ));
    }
    if !entry.is_finished() {
        return failure;
    }
    let next = key.number().saturating_add(1);
    let sent = if is_new { "" } else { "nothing was sent now; " };
    failure.advise(format!(
        "{sent}`--attempt {next}` asks for the picture of {name} again, and pays for it again"
    ))
}
