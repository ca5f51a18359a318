//! The exit codes and the kinds of failures, which scripts may rely on.

use serde::Serialize;

use crate::text::Table;

/// The outcomes of the program.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "u8")]
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
    AlreadyPaid = 12,
    Later = 13,
    Unset = 14,
    Interrupted = 130,
}

/// A row of the table of exit codes: what a script can conclude from a code.
#[derive(Serialize)]
pub struct Row {
    code: Exit,
    /// Whether the same command may succeed if it is run again later, and charges nothing twice.
    retry: bool,
    /// Whether a command with this exit code has submitted something that is charged.
    charged: &'static str,
    meaning: &'static str,
}

/// For codes that do not say whether anything is charged: the output of the command does.
const SHOWN: &str = "see output";

/// The table of all exit codes, as programs get it.
pub const ROWS: [Row; 16] = [
    row(Exit::Success, false, SHOWN, "success"),
    row(Exit::Other, false, SHOWN, "a local file or another local error, or some pictures failed"),
    row(Exit::Usage, false, "no", "invalid usage, settings or request, or a wrong base URL"),
    row(Exit::KeyRefused, false, "no", "the service rejected the API key"),
    row(Exit::TaskFailed, false, SHOWN, "the task, or a job of a batch, failed or was not found"),
    row(Exit::Moderated, false, SHOWN, "the task was stopped by moderation"),
    row(
        Exit::Continues,
        false,
        "yes",
        "a picture is charged and not saved; `kiln resume`, or its report, says how to get it",
    ),
    row(
        Exit::Network,
        true,
        "no",
        "the network or the service failed before any submission was accepted",
    ),
    row(Exit::BillingUnknown, false, "unknown", "no response says whether a task was created"),
    row(Exit::WebhookRefused, false, "no", "a webhook delivery was rejected"),
    row(Exit::JobsLeft, false, SHOWN, "jobs of a batch are left; its advice says how to continue"),
    row(
        Exit::Unpaid,
        false,
        "no",
        "no credits, or a limit: the project's or --budget (a batch: 10)",
    ),
    row(Exit::AlreadyPaid, false, "no", "the same request is already paid; see `--again`"),
    row(Exit::Later, true, SHOWN, "a job has not ended; run `kiln batch advance` again"),
    row(Exit::Unset, false, "no", "a setting has no value"),
    row(Exit::Interrupted, false, SHOWN, "interrupted; a submitted task continues"),
];

const fn row(code: Exit, retry: bool, charged: &'static str, meaning: &'static str) -> Row {
    Row { code, retry, charged, meaning }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> Self {
        exit as Self
    }
}

/// The order in which a command with several outcomes looks for its exit code: the first one that
/// occurred wins. Outcomes that were paid for without a picture come before outcomes that cost
/// nothing.
const WORST_FIRST: [Exit; 15] = [
    Exit::BillingUnknown,
    Exit::Interrupted,
    Exit::Continues,
    Exit::Moderated,
    Exit::TaskFailed,
    Exit::Usage,
    Exit::KeyRefused,
    Exit::WebhookRefused,
    Exit::Unpaid,
    Exit::AlreadyPaid,
    Exit::JobsLeft,
    Exit::Later,
    Exit::Unset,
    Exit::Other,
    Exit::Network,
];

/// Returns the exit code of a command with these failures. If anything was charged, codes that say
/// the opposite become [`Exit::Other`].
pub fn worst(exits: impl IntoIterator<Item = Exit>, is_charged: bool) -> Option<Exit> {
    let says_no = |exit| ROWS.iter().any(|row| row.code == exit && row.charged == "no");
    let of = |exit| if is_charged && says_no(exit) { Exit::Other } else { exit };
    let exits: Vec<_> = exits.into_iter().map(of).collect();
    WORST_FIRST.into_iter().find(|exit| exits.contains(exit))
}

/// The table of all exit codes, for people.
pub fn table() -> Table<4> {
    let rows = ROWS.iter().map(|row| {
        let retry = if row.retry { "yes" } else { "no" };
        [u8::from(row.code).to_string(), retry.into(), row.charged.into(), row.meaning.into()]
    });
    let heading = ["CODE", "RETRY", "CHARGED", "MEANING"];
    Table::with_heading(heading, rows).wrapped(&[3]).numbers(&[0])
}

/// The kinds of failures and their meanings, which the help of `kiln exit-codes` lists.
pub const KINDS: [(&str, &str); 43] = [
    ("usage", "the command line is invalid"),
    ("settings", "a setting is missing or invalid"),
    ("validation", "the request, or a line of a job file, is invalid"),
    ("auth", "the key is missing, unknown, or has no access"),
    ("payment", "no credits are left, or a limit is reached: of the project or --budget"),
    ("rate_limited", "too many requests or active tasks, even after retries"),
    ("outage", "the service did not say whether it accepted the last submissions"),
    ("network", "the service could not be reached, or the connection broke"),
    ("service", "the service responded with an unexpected status code"),
    ("response", "the response identifies no task"),
    ("key_withheld", "the host of the polling URL is not allowed to receive the key"),
    ("task_failed", "the task ended with an error"),
    ("moderated", "moderation stopped the task"),
    ("task_not_found", "the service does not know the task"),
    ("deadline", "the deadline passed"),
    ("expired", "the delivery URL has expired"),
    ("download", "the picture could not be downloaded"),
    ("damaged", "the picture is paid for, and its delivery is damaged"),
    ("address_refused", "the delivery URL is not one that may be fetched"),
    ("webhook", "a webhook was rejected"),
    ("journal", "the history could not record the submission"),
    ("refused", "the history refused the submission"),
    ("already_paid", "an earlier command has paid for the same request"),
    ("key_conflict", "the key belongs to another request, or its last attempt has not ended"),
    ("in_progress", "another command waits for the response to the submission of the key"),
    ("undecided", "a person has to decide about the submission of the key"),
    ("file", "a file could not be read or written"),
    ("internal", "a bug of `kiln`"),
    ("interrupted", "Ctrl-C"),
    ("not_saved", "several pictures were wanted, and some were not saved"),
    ("resume", "`kiln resume` did not save all pictures"),
    ("unknown", "the response to a submission was lost"),
    ("ledger", "the ledger could not be read or written"),
    ("locked", "another process runs the jobs of the ledger"),
    ("foreign", "the ledger may not know everything that was paid for"),
    ("elsewhere", "the submission or the ledger belongs to another service"),
    ("state", "the state of a job does not allow the change"),
    ("hold", "the job can't be resolved as not paid yet"),
    ("jobs_failed", "jobs of the batch ended without a picture"),
    ("jobs_left", "jobs of the batch are left"),
    ("later", "the job of `kiln batch advance` has not ended"),
    ("jobs_unknown", "the responses to submissions of the batch were lost"),
    ("other", "another local error"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The precedence of exit codes on which scripts rely.
    #[test]
    fn the_worst_of_all_combinations_decides() {
        let order = [8, 6, 5, 4, 10, 7];
        let exit = |code: u8| WORST_FIRST.into_iter().find(|exit| *exit as u8 == code).unwrap();
        for chosen in 1_u32..1 << order.len() {
            let codes = order.iter().enumerate().filter(|(at, _)| chosen & 1 << at != 0);
            let codes: Vec<u8> = codes.map(|(_, code)| *code).collect();
            let exits = || codes.iter().rev().map(|code| exit(*code));
            assert_eq!(worst(exits(), false).map(u8::from), Some(codes[0]), "{codes:?}");
            let charged = worst(exits(), true).map(u8::from);
            let expected = if codes[0] == 7 { 1 } else { codes[0] };
            assert_eq!(charged, Some(expected), "{codes:?}");
        }
    }

    #[test]
    fn every_failure_has_a_place_in_the_order() {
        let failures = ROWS.iter().filter(|row| row.code != Exit::Success);
        let ranked = |row: &Row| WORST_FIRST.contains(&row.code);
        assert!(failures.clone().all(ranked) && failures.count() == WORST_FIRST.len());
    }
}
