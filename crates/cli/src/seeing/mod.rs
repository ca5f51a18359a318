//! Shows saved pictures: prints the lines that describe them, and implements `--show` and `--open`.

mod grid;
mod screen;

use std::{io, path::Path};

use clap::{ArgMatches, Args};
use serde_json::Value;
use tokio::task::spawn_blocking;

pub use self::grid::Cell;
use self::screen::Protocol;
#[cfg(feature = "mcp")]
pub use self::screen::decoded;
use crate::{
    context::Context,
    failure::Failure,
    files::target::{self, Place, Saved, Target},
    output::Output,
    text::{json, printable},
};
use imagekiln::{
    FileKind, Task,
    text::{Credits, counted},
};

// Help shows them after the options of `Saving`.
#[derive(Args)]
#[command(next_display_order = 4)]
pub struct SeeingOptions {
    /// Show the picture in the terminal
    #[arg(long, hide_short_help = true)]
    show: bool,
    /// Open the picture with the desktop's program for it
    #[arg(long, hide_short_help = true)]
    open: bool,
}

/// Whether this command can show pictures in the terminal.
pub fn can_show(context: &Context) -> bool {
    !context.output.json && Protocol::find(context.process()).is_some()
}

pub struct Seeing {
    protocol: Option<Protocol>,
    opens: bool,
    /// Whether to show several pictures together, after all tasks have ended.
    shows_grid: bool,
}

impl Seeing {
    /// Reads the flags. Refuses a flag that can't work, so that the user does not pay for a command
    /// that fails. `target` is `None` if each task has its own target.
    pub fn of(
        context: &Context,
        matches: &ArgMatches,
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        let (shows, opens) = (matches.get_flag("show"), matches.get_flag("open"));
        let flag = if shows { "--show" } else { "--open" };
        let refused = |problem: &str, advice: &str| Err(Failure::usage(problem).advise(advice));
        let is_file =
            target.is_none_or(|target| !matches!(target.place, Place::Stdout | Place::Special(_)));
        if (shows || opens) && !is_file {
            return refused(&format!("{flag} needs a file"), "pass a file to --output");
        }
        if shows && context.output.json {
            return refused("--show and --json exclude each other", "remove one of them");
        }
        let protocol = if shows { Protocol::find(context.process()) } else { None };
        if shows && protocol.is_none() {
            let problem = "--show needs a terminal that can show pictures";
            return refused(problem, "remove --show, or use --open");
        }
        Ok(Self { protocol, opens, shows_grid: false })
    }

    /// The same for a command that makes several pictures, which are shown together. With `--show`,
    /// they are always shown. Without it, they are shown if a person sees both streams on a
    /// terminal that can show pictures, and does not use `--open`.
    pub fn together(self, context: &Context) -> Self {
        let Output { process, quiet, .. } = &context.output;
        let is_seen = process.stdout.is_terminal && process.stderr.is_terminal && !quiet;
        let shows_grid = self.protocol.is_some() || is_seen && !self.opens && can_show(context);
        Self { protocol: None, shows_grid, ..self }
    }

    /// Shows several pictures together, if [`together`](Self::together) has decided so.
    pub async fn present_all(&self, output: &Output, cells: Vec<Cell>) {
        if self.shows_grid {
            grid::show(output, cells).await;
        }
    }

    /// Prints where the picture was saved, shows it and opens it. Prints nothing if the picture
    /// itself was written to standard output. `about` contains the first members of the result for
    /// programs.
    pub async fn present(
        &self,
        context: &Context,
        saved: &Saved,
        task: &Task,
        about: Value,
    ) -> Result<(), Failure> {
        let Some(path) = &saved.path else { return Ok(()) };
        let output = &context.output;
        let pixels = pixels(saved);
        output.saved(path, || description(saved, pixels, task.cost()));
        // If both streams are the terminal, the line on standard error already shows the path.
        let reads_both = output.process.stdout.is_terminal && output.process.stderr.is_terminal;
        let printed = if reads_both && !output.json && !output.quiet {
            Ok(())
        } else {
            output.result(
                || path.display().to_string(),
                || {
                    let kind = saved.kind.map(|kind| kind.to_string().to_lowercase());
                    let members = [
                        ("path", path.to_string_lossy().into()),
                        ("kind", kind.into()),
                        ("width", pixels.map(|(width, _)| width).into()),
                        ("height", pixels.map(|(_, height)| height).into()),
                        ("bytes", saved.bytes.into()),
                        ("difference", saved.difference.clone().into()),
                    ];
                    json::with(about, members)
                },
            )
        };
        if let Some(protocol) = self.protocol {
            protocol.show(output, path, saved.kind).await;
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

/// Shows pictures that earlier commands have saved, if the terminal can show pictures.
pub async fn show(context: &Context, cells: Vec<Cell>) {
    let output = &context.output;
    if output.json {
        return;
    }
    let Some(protocol) = Protocol::find(&output.process) else { return };
    let mut found: Vec<_> = cells.into_iter().filter(|it| it.path.exists()).collect();
    match (found.pop(), found.is_empty()) {
        (Some(Cell { path, .. }), true) => match target::found(path.clone()) {
            Ok(saved) => protocol.show(output, &path, saved.kind).await,
            Err(failure) => output.note(&failure.message),
        },
        (Some(last), false) => {
            found.push(last);
            grid::show(output, found).await;
        }
        (None, _) => {}
    }
}

/// Opens a file with the desktop's program for it. The file is already saved, so a failure is only
/// a warning.
pub async fn open(output: &Output, path: &Path) {
    if let Err(why) = opened(path).await {
        let path = printable(&path.to_string_lossy());
        output.warning(&format!("could not open {path}: {why}"));
    }
}

/// Opens a file with the desktop's program for it, or returns why that is impossible. Does not wait
/// until the program ends.
pub async fn opened(path: &Path) -> Result<(), &'static str> {
    let file = path.to_owned();
    let opened = spawn_blocking(move || open::that_detached(file)).await;
    opened.map_err(io::Error::other).flatten().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "found no program that opens files",
        // The error contains only the exit code of the launcher, which does not help anybody.
        _ => "the desktop has no program for it",
    })
}

/// The width and the height of an image, from the first bytes of its file.
pub fn pixels(saved: &Saved) -> Option<(usize, usize)> {
    // A picture without a kind was written to a device or a pipe, which must not be read.
    saved.kind.filter(|kind| !is_video(*kind))?;
    imagesize::size(saved.path.as_ref()?).ok().map(|size| (size.width, size.height))
}

fn is_video(kind: FileKind) -> bool {
    matches!(kind, FileKind::Mp4 | FileKind::Webm)
}

/// For example `PNG, 1024 x 768 pixels, 812 kB, 3 credits`. Unknown values are left out.
fn description(saved: &Saved, pixels: Option<(usize, usize)>, cost: Option<f64>) -> String {
    let facts = [
        saved.kind.map(|kind| kind.to_string()),
        pixels.map(|(width, height)| format!("{width} x {height} pixels")),
        Some(size(saved.bytes)),
        cost.map(|cost| counted(Credits(cost), "credit")),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats a number of bytes in decimal units, as file managers do.
fn size(bytes: u64) -> String {
    let number = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..999_500 => format!("{:.0} kB", number / 1e3),
        _ => format!("{:.1} MB", number / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (20_000_000, "20.0 MB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
