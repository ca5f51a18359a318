//! The exit codes, which scripts may rely on.

use std::process::ExitCode;

use serde_json::{Value, json};

use self::Charged::{No, Shown, Unknown, Yes};
use crate::text::table::Table;

/// The outcomes of the program.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    #[default]
    Other = 1,
    Usage = 2,
    KeyRefused = 3,
    TaskFailed = 4,
    Moderated = 5,
    Continues = 6,
    Network = 7,
    BillingUnknown = 8,
    WebhookRefused = 9,
    JobsLeft = 10,
    Unpaid = 11,
    Interrupted = 130,
}

/// Whether a command with this outcome has submitted something that is charged.
#[derive(Debug, Clone, Copy)]
enum Charged {
    No,
    Yes,
    Unknown,
    /// The output of the command says so.
    Shown,
}

/// The meaning of an exit code for a script.
#[derive(Debug)]
struct Row {
    exit: Exit,
    /// Whether the same command may succeed later, and charges nothing twice.
    retry: bool,
    charged: Charged,
    meaning: &'static str,
}

const ROWS: [Row; 13] = [
    row(Exit::Success, false, Shown, "success"),
    row(Exit::Other, false, Shown, "a local file or another local error, or some pictures failed"),
    row(Exit::Usage, false, No, "invalid usage, settings or request, or a wrong base URL"),
    row(Exit::KeyRefused, false, No, "the service rejected the API key"),
    row(Exit::TaskFailed, false, Shown, "the task, or a job of a batch, failed or was not found"),
    row(Exit::Moderated, false, Shown, "the task was stopped by moderation"),
    row(Exit::Continues, false, Yes, "the task has no saved picture yet; run `kiln resume`"),
    row(
        Exit::Network,
        true,
        No,
        "the network or the service failed before a submission was accepted",
    ),
    row(Exit::BillingUnknown, false, Unknown, "no response says whether a task was created"),
    row(Exit::WebhookRefused, false, No, "a webhook delivery was rejected"),
    row(Exit::JobsLeft, false, Shown, "jobs of a batch are left; its advice says how to continue"),
    row(Exit::Unpaid, false, No, "the project has no credits, or reached its spending limit"),
    row(Exit::Interrupted, false, Shown, "interrupted; a submitted task continues"),
];

const fn row(exit: Exit, retry: bool, charged: Charged, meaning: &'static str) -> Row {
    Row { exit, retry, charged, meaning }
}

const HEAD: [&str; 4] = ["CODE", "RETRY", "CHARGED", "MEANING"];

impl Exit {
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

impl Row {
    fn cells(&self) -> [String; 4] {
        let charged = match self.charged {
            No => "no",
            Yes => "yes",
            Unknown => "unknown",
            Shown => "see output",
        };
        let retry = if self.retry { "yes" } else { "no" };
        [self.exit.code().to_string(), retry.into(), charged.into(), self.meaning.into()]
    }
}

/// All codes, for people.
pub fn table() -> Table<4> {
    Table::with_heading(HEAD, ROWS.iter().map(Row::cells)).wrapped(&[3]).numbers(&[0])
}

/// All codes, for programs.
pub fn for_programs() -> Value {
    let row = |row: &Row| {
        let [_, _, charged, meaning] = row.cells();
        let code = row.exit.code();
        json!({ "code": code, "retry": row.retry, "charged": charged, "meaning": meaning })
    };
    ROWS.iter().map(row).collect()
}
