//! Shows saved pictures: the lines that describe them, `--show` and `--open`.

mod blocks;
mod inline;
mod protocol;
mod screen;
mod summary;

use std::{io, path::Path};

use clap::{Arg, ArgAction, ArgMatches};
use serde_json::Value;
use tokio::task::spawn_blocking;

use self::{screen::Screen, summary::Summary};
use crate::{
    context::Context,
    failure::Failure,
    files::target::{Place, Saved, Target},
    output::Output,
    text::{json, sanitize::printable},
};
use imagekiln::Task;

const SHOW: &str = "show";
const OPEN: &str = "open";

/// `--show` and `--open`
pub fn args() -> [Arg; 2] {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    [
        flag(SHOW).help("Show the picture in the terminal"),
        flag(OPEN).help("Open the picture with the desktop's program for it"),
    ]
}

/// Whether `--show` works.
pub fn can_show(context: &Context) -> bool {
    !context.output.json && Screen::find(context.process()).is_some()
}

/// The way to show each saved picture.
pub struct Seeing {
    screen: Option<Screen>,
    opens: bool,
}

impl Seeing {
    /// Reads the flags. Refuses those that can't work, so that no picture is paid for in vain.
    /// `target` is `None` if each task has its own.
    pub fn of(
        context: &Context,
        matches: &ArgMatches,
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        let (shows, opens) = (matches.get_flag(SHOW), matches.get_flag(OPEN));
        let flag = if shows { "--show" } else { "--open" };
        let refused = |problem: String, advice: &str| Err(Failure::usage(problem).advise(advice));
        let is_file =
            target.is_none_or(|target| !matches!(target.place, Place::Stdout | Place::Special(_)));
        if (shows || opens) && !is_file {
            return refused(format!("{flag} needs a file"), "pass a file to --output");
        }
        if shows && context.output.json {
            return refused(
                "--show and --json exclude each other".to_owned(),
                "remove one of them",
            );
        }
        let screen = if shows { Screen::find(context.process()) } else { None };
        if shows && screen.is_none() {
            return refused(
                "--show needs a terminal that can show pictures".to_owned(),
                "remove --show, or use --open",
            );
        }
        Ok(Self { screen, opens })
    }

    /// Prints where the picture was saved, shows it and opens it. Prints nothing if the picture
    /// itself went to standard output. `about` has the first members of the result for programs.
    pub async fn present(
        &self,
        context: &Context,
        saved: &Saved,
        task: &Task,
        about: Value,
    ) -> Result<(), Failure> {
        let Some(path) = &saved.path else { return Ok(()) };
        let output = &context.output;
        let summary = Summary::of(saved, path, task.cost());
        if !output.json && !output.quiet {
            output.saved(path, &summary.to_string());
        }
        let printed = if is_printed_twice(context) {
            Ok(())
        } else {
            output.result(
                || path.display().to_string(),
                || {
                    let kind = saved.kind.map(|kind| kind.to_string().to_lowercase());
                    let members = [
                        ("path", path.to_string_lossy().into()),
                        ("kind", kind.into()),
                        ("width", summary.width().into()),
                        ("height", summary.height().into()),
                        ("bytes", saved.bytes.into()),
                    ];
                    json::with(about, members)
                },
            )
        };
        if let Some(screen) = &self.screen {
            screen.show(output, path, saved.kind).await;
        }
        if self.opens {
            open(output, path).await;
        }
        printed.map_err(|failure| {
            failure
                .after_payment(task.reference())
                .advise(format!("the picture is paid for and saved: {}", path.display()))
        })
    }
}

/// Whether a person who reads both streams on a terminal would see the path twice.
fn is_printed_twice(context: &Context) -> bool {
    let output = &context.output;
    let has_line = !output.json && !output.quiet;
    has_line && output.process.stdout.is_terminal && output.process.stderr.is_terminal
}

/// Opens a file with the desktop's program for it. The file is saved, so a failure is only a
/// warning.
pub async fn open(output: &Output, path: &Path) {
    if let Err(why) = opened(path).await {
        let path = printable(&path.to_string_lossy());
        output.warning(&format!("could not open {path}: {why}"));
    }
}

/// Opens a file with the desktop's program for it, or says why that is impossible. Does not wait
/// until the program ends.
pub async fn opened(path: &Path) -> Result<(), &'static str> {
    let file = path.to_owned();
    let opened = spawn_blocking(move || open::that_detached(file)).await;
    opened.map_err(io::Error::other).flatten().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "found no program that opens files",
        // The error has exit codes of the launcher, which help nobody.
        _ => "the desktop has no program for it",
    })
}
