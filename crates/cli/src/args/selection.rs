//! Selects the submissions to which a command applies.

use std::{fs, io::Read as _, time::SystemTime};

use crate::{failure::Failure, process::Process, text::when};
use clap::Args;

/// The ids of the options in [`Sent`], for options that exclude them.
pub const SENT: [&str; 2] = ["sent_after", "sent_before"];

/// The time at which submissions were sent.
#[derive(Args, Clone, Copy)]
#[group(multiple = true)]
pub struct Sent {
    /// Only what was sent at this time or later: a time such as 2026-11-20T08:15:09Z, a day,
    /// or so long ago, such as 2h
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub sent_after: Option<SystemTime>,
    /// Only what was sent before this time
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub sent_before: Option<SystemTime>,
}

impl Sent {
    pub fn is_given(&self) -> bool {
        self.sent_after.is_some() || self.sent_before.is_some()
    }

    /// Whether a time is within the limits.
    pub fn contains(&self, time: SystemTime) -> bool {
        self.sent_after.is_none_or(|after| time >= after)
            && self.sent_before.is_none_or(|before| time < before)
    }
}

/// Reads a file, or standard input for `-`. If that is a terminal, the person is told to type
/// `what`.
pub fn text(process: &Process, path: &str, what: &str) -> Result<String, Failure> {
    let read = if path == "-" {
        process.note_typing(what);
        let mut text = String::new();
        (&process.stdin).read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(process.directory.join(path))
    };
    let text = read.map_err(|error| {
        let name = if path == "-" { "standard input" } else { path };
        Failure::file(format!("could not read {name}"), error).advise("nothing was changed")
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// Reads the lines of a file, or of standard input for `-`, and leaves out blank lines.
pub fn lines(process: &Process, path: &str) -> Result<Vec<String>, Failure> {
    let text = text(process, path, "the names")?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}
