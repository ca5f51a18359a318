//! What each status code of a failure means: the one table for submissions and polls.
//! `docs/billing.md` shows it, and a test compares the two.

use reqwest::StatusCode;

use crate::ErrorKind;

/// What a status code means for a submission, and for a poll.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// The status codes, first and last.
    codes: (u16, u16),
    pub(crate) kind: ErrorKind,
    pub(crate) submission: Submission,
    pub(crate) poll: Poll,
    /// What the service did: `the service ...`.
    pub(crate) what: &'static str,
    /// What to do about it.
    pub(crate) advice: &'static str,
}

/// What became of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Submission {
    /// It was certainly not taken, and nothing was paid.
    Refused,
    /// It was certainly not taken, and the client sends it again.
    Repeated,
    /// The contract does not say; the task may have been created and paid.
    Unknown,
}

/// What becomes of a wait after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Poll {
    /// The client polls again.
    Again,
    /// Polling again would change nothing.
    End,
}

use ErrorKind::{Auth, Payment, RateLimited, Service, Validation};
use Poll::{Again, End};
use Submission::{Refused, Repeated, Unknown};

const REDIRECT: &str =
    "answered with a redirect, which is not followed, because the key would go along";
const MOVED: &str = "set the base address to where the service is";
const ADDRESS: &str = "check the base address and the model prefix";
const ACCESS: &str = "check the key, and that its project has access to this endpoint";
const CREDITS: &str = "add credits to the project, or raise its spending limit";
const WAIT: &str = "wait, or cap the active tasks with ClientBuilder::max_active_tasks";
const PROXY: &str = "was not reached, because a proxy asks for authentication";
const UNDEFINED: &str = "answered with a status code that HTTP does not define here";

/// The contract shows 403 and 422 and no other status code. Besides those, a submission counts as
/// refused only if the code says by its definition that the request was not acted upon; the first
/// match counts.
const MEANINGS: &[Meaning] = &[
    row(301, 301, Service, Refused, End, REDIRECT, MOVED),
    row(307, 308, Service, Refused, End, REDIRECT, MOVED),
    row(300, 399, Service, Unknown, End, REDIRECT, MOVED),
    row(400, 400, Service, Refused, End, "found the request malformed", ADDRESS),
    row(401, 401, Auth, Refused, End, "refused the key", "check the key"),
    row(402, 402, Payment, Refused, End, "asks for payment", CREDITS),
    row(403, 403, Auth, Refused, End, "refused the key", ACCESS),
    row(404, 404, Service, Refused, End, "does not know this address", ADDRESS),
    row(405, 405, Service, Refused, End, "does not take this method at this address", ADDRESS),
    row(406, 406, Service, Refused, End, "refused the request", ADDRESS),
    row(407, 407, Service, Refused, End, PROXY, "check the proxy settings of the environment"),
    row(408, 408, Service, Unknown, Again, "gave up waiting for the request", ""),
    row(409, 409, Service, Unknown, Again, "reported a conflict", ""),
    row(
        413,
        413,
        Service,
        Refused,
        End,
        "found the request too large",
        "send smaller images, or their URLs",
    ),
    row(415, 415, Service, Refused, End, "does not take JSON at this address", ADDRESS),
    row(422, 422, Validation, Refused, End, "found the request invalid", "correct the request"),
    row(423, 424, Service, Unknown, Again, "could not act on the request", ""),
    row(425, 425, Service, Refused, Again, "does not take the request this early", "send it again"),
    row(429, 429, RateLimited, Repeated, Again, "takes no more requests at the moment", WAIT),
    row(460, 460, Service, Unknown, Again, "closed the request early", ""),
    row(499, 499, Service, Unknown, Again, "closed the request early", ""),
    row(400, 499, Service, Unknown, End, "refused the request", ""),
    row(500, 599, Service, Unknown, Again, "failed", ""),
    row(100, 999, Service, Unknown, Again, UNDEFINED, ""),
];

impl Meaning {
    /// Of a status code that is not one of success.
    pub(crate) fn of(status: StatusCode) -> &'static Self {
        let code = status.as_u16();
        let matching = |meaning: &&Self| (meaning.codes.0..=meaning.codes.1).contains(&code);
        // The last row matches whatever a response can carry.
        MEANINGS.iter().find(matching).unwrap_or(&MEANINGS[MEANINGS.len() - 1])
    }
}

const fn row(
    first: u16,
    last: u16,
    kind: ErrorKind,
    submission: Submission,
    poll: Poll,
    what: &'static str,
    advice: &'static str,
) -> Meaning {
    Meaning { codes: (first, last), kind, submission, poll, what, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_shows_every_row() {
        let rows: Vec<String> = MEANINGS.iter().map(shown).collect();
        let page = include_str!("../../docs/billing.md");
        let listed: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(listed, rows, "the table of docs/billing.md");
    }

    fn shown(meaning: &Meaning) -> String {
        let codes = match meaning.codes {
            (first, last) if first == last => format!("`{first}`"),
            (first, last) => format!("`{first}` to `{last}`"),
        };
        let submission = match meaning.submission {
            Refused => "nothing was paid",
            Repeated => "nothing was paid; the client sends it again",
            Unknown => "unknown; never sent again",
        };
        let poll = match meaning.poll {
            Again => "polls again",
            End => "ends the wait",
        };
        format!(
            "| {codes} | the service {} | `{:?}` | {submission} | {poll} |",
            meaning.what, meaning.kind
        )
    }
}
