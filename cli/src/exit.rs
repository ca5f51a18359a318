//! The exit codes: a promise to scripts.

use std::{fmt::Write, process::ExitCode};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    Other = 1,
    Usage = 2,
    KeyRefused = 3,
    TaskFailed = 4,
    Moderated = 5,
    Deadline = 6,
    Network = 7,
    BillingUnknown = 8,
    WebhookRefused = 9,
    Interrupted = 130,
}

impl Exit {
    pub const ALL: [Self; 11] = [
        Self::Success,
        Self::Other,
        Self::Usage,
        Self::KeyRefused,
        Self::TaskFailed,
        Self::Moderated,
        Self::Deadline,
        Self::Network,
        Self::BillingUnknown,
        Self::WebhookRefused,
        Self::Interrupted,
    ];

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Other => "a file can't be read or written, or another fault of this machine",
            Self::Usage => {
                "usage, settings, or a request that does not fit the model; nothing was paid"
            }
            Self::KeyRefused => "the key was refused",
            Self::TaskFailed => "the task failed, or was not found",
            Self::Moderated => "the task was stopped by moderation",
            Self::Deadline => "the deadline passed; the task goes on",
            Self::Network => "the network or the service failed, or asked to come back later",
            Self::BillingUnknown => "it is not known whether a task was created and paid",
            Self::WebhookRefused => "the delivery of a webhook was refused",
            Self::Interrupted => "interrupted; a task that was submitted goes on",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// All codes with their meanings, for `kiln --help`.
pub fn table() -> String {
    Exit::ALL.iter().fold("Exit codes:".to_owned(), |mut text, exit| {
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n  {:>3}  {}", exit.code(), exit.meaning());
        text
    })
}
