//! The exit codes, which scripts may rely on.

use std::{fmt::Write, process::ExitCode};

/// The outcomes of the program.
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
    JobsLeft = 10,
    Unpaid = 11,
    Interrupted = 130,
}

impl Exit {
    pub const ALL: [Self; 13] = [
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
        Self::JobsLeft,
        Self::Unpaid,
        Self::Interrupted,
    ];

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Other => "a file could not be read or written, or another local error",
            Self::Usage => "invalid usage, settings or request; nothing was charged",
            Self::KeyRefused => "the service rejected the API key",
            Self::TaskFailed => "the task, or a job of a batch, failed or was not found",
            Self::Moderated => "the task was stopped by moderation",
            Self::Deadline => "the deadline passed; the task continues",
            Self::Network => {
                "the network or the service failed, or the service asked to retry later"
            }
            Self::BillingUnknown => "unknown whether a task was created and charged",
            Self::WebhookRefused => "a webhook delivery was rejected",
            Self::JobsLeft => "jobs of a batch are left; run it again to continue",
            Self::Unpaid => {
                "the project has no credits left, or has reached its spending limit; nothing was \
                 charged"
            }
            Self::Interrupted => "interrupted; a submitted task continues",
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
