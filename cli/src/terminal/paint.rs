//! Colour, for people at a terminal. `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` decide as for the
//! parser's own help and errors. JSON and output for programs are never coloured.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use clap::builder::StyledStr;

pub const ERROR: Style = AnsiColor::Red.on_default().bold();
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The label of advice.
pub const ADVICE: Style = AnsiColor::Cyan.on_default().bold();
pub const PATH: Style = AnsiColor::Green.on_default();
pub const HEADING: Style = Style::new().bold();

/// Whether a stream shows colour.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    pub fn new(is_on: bool) -> Self {
        Self(is_on)
    }

    pub fn text(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// Help and errors of the parser.
    pub fn styled(self, text: &StyledStr) -> String {
        if self.0 { text.ansi().to_string() } else { text.to_string() }
    }

    /// A table whose first line is its heading.
    pub fn table(self, table: &str) -> String {
        match table.split_once('\n') {
            Some((heading, rows)) => format!("{}\n{rows}", self.text(HEADING, heading)),
            None => self.text(HEADING, table),
        }
    }
}
