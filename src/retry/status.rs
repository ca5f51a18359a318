//! What a failure means for a submission and for a poll: the meaning of each status code, and
//! whether the service processed a request that has no response. `docs/billing.md` has a table of
//! the codes, and a test compares the two.

use std::{error::Error as _, io};

use reqwest::StatusCode;

use self::{
    PollEffect::{Again, End},
    SubmissionEffect::{Refused, Retried, Unknown},
};
use crate::ErrorKind::{self, Auth, Payment, RateLimited, Service, Validation};

/// The meaning of a status code for a submission and for a poll.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// The first and the last status code.
    codes: (u16, u16),
    pub(crate) kind: ErrorKind,
    pub(crate) submission: SubmissionEffect,
    pub(crate) poll: PollEffect,
    /// What happened, as the predicate of `the service ...`.
    pub(crate) what: &'static str,
    /// What to do next.
    pub(crate) advice: &'static str,
}

/// The effect of a status code on a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubmissionEffect {
    /// The service certainly did not process the submission. Nothing was billed.
    Refused,
    /// The service certainly did not process the submission, and the client sends it again.
    Retried,
    /// The service may have created and billed a task.
    Unknown,
}

/// The effect of a status code on a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollEffect {
    /// The client polls again.
    Again,
    /// Polling again would not help. The wait ends.
    End,
}

const REDIRECT: &str =
    "responded with a redirect, which the client does not follow, because it would forward the key";
const MOVED: &str = "set the base URL to the current URL of the service";
const ADDRESS: &str = "check the base URL and the model prefix";
const ACCESS: &str = "check the key, and that its project has access to this endpoint";
const UNPAID: &str =
    "requires payment: the project has no credits left, or has reached its spending limit";
const CREDITS: &str = "add credits to the project, or increase its spending limit";
const WAIT: &str = "wait, or limit the active tasks";
const SMALLER: &str = "send smaller images, or send their URLs";
const PROXY: &str = "was not reached, because a proxy requires authentication";
const INVALID: &str = "rejected the request as invalid";
const UNDEFINED: &str = "responded with an unexpected status code";

/// The contract lists only the failures 403 and 422. Any other code counts as a refusal only if
/// HTTP defines that the request was not processed. After all other codes, the billing is unknown,
/// and the client does not send the submission again, because it could be billed twice. The first
/// matching row applies.
const MEANINGS: &[Meaning] = &[
    row(301, 301, Service, Refused, End, REDIRECT, MOVED),
    row(307, 308, Service, Refused, End, REDIRECT, MOVED),
    row(300, 399, Service, Unknown, End, REDIRECT, MOVED),
    row(400, 400, Service, Refused, End, "rejected the request as malformed", ADDRESS),
    row(401, 401, Auth, Refused, End, "rejected the key", "check the key"),
    row(402, 402, Payment, Refused, End, UNPAID, CREDITS),
    row(403, 403, Auth, Refused, End, "rejected the key", ACCESS),
    row(404, 404, Service, Refused, End, "does not recognize this URL", ADDRESS),
    row(405, 405, Service, Refused, End, "does not support this method at this URL", ADDRESS),
    row(406, 406, Service, Refused, End, "rejected the request", ADDRESS),
    row(407, 407, Service, Refused, End, PROXY, "check the proxy settings"),
    row(408, 408, Service, Unknown, Again, "timed out waiting for the request", ""),
    row(409, 409, Service, Unknown, Again, "reported a conflict", ""),
    row(413, 413, Service, Refused, End, "rejected the request as too large", SMALLER),
    row(415, 415, Service, Refused, End, "does not accept JSON at this URL", ADDRESS),
    row(422, 422, Validation, Refused, End, INVALID, "correct the request"),
    row(423, 424, Service, Unknown, Again, "could not process the request", ""),
    row(425, 425, Service, Refused, Again, "refused to process the request early", "submit again"),
    row(429, 429, RateLimited, Retried, Again, "received too many requests", WAIT),
    row(460, 460, Service, Unknown, Again, "closed the connection early", ""),
    row(499, 499, Service, Unknown, Again, "closed the connection early", ""),
    row(400, 499, Service, Unknown, End, "rejected the request", ""),
    row(500, 599, Service, Unknown, Again, "failed", ""),
    OTHERWISE,
];

/// What every other code means.
const OTHERWISE: Meaning = row(100, 999, Service, Unknown, Again, UNDEFINED, "");

impl Meaning {
    /// Returns the meaning of a status code that is not a success code.
    pub(crate) fn of(status: StatusCode) -> &'static Self {
        let code = status.as_u16();
        let matching = |meaning: &&Self| (meaning.codes.0..=meaning.codes.1).contains(&code);
        MEANINGS.iter().find(matching).unwrap_or(&OTHERWISE)
    }
}

const fn row(
    first: u16,
    last: u16,
    kind: ErrorKind,
    submission: SubmissionEffect,
    poll: PollEffect,
    what: &'static str,
    advice: &'static str,
) -> Meaning {
    Meaning { codes: (first, last), kind, submission, poll, what, advice }
}

/// Returns whether the service certainly did not process the request. Only then can the client send
/// a submission again without the risk that it is billed twice.
pub(crate) fn was_not_processed(error: &reqwest::Error) -> bool {
    error.is_connect()
        || causes(error).any(|cause| was_never_sent(cause) || was_refused_by_http2(cause))
}

/// Whether the connection was closed before the request was written to it.
fn was_never_sent(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled)
}

/// Whether HTTP/2 guarantees that the request was not processed (RFC 9113, section 8.7): the server
/// refused the stream, or the stream was opened after the last one that the server processed before
/// it closed the connection.
fn was_refused_by_http2(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<h2::Error>().is_some_and(|error| {
        error.is_remote()
            && (error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)
                || error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
    })
}

/// Returns whether the server does not speak TLS, or has a certificate that is not trusted. The
/// client does not retry after either, because another attempt would fail in the same way.
pub(crate) fn is_tls_failure(error: &reqwest::Error) -> bool {
    error.is_connect() && causes(error).any(|cause| cause.downcast_ref().is_some_and(is_invalid))
}

/// Returns whether the error is, or contains, an error of kind `InvalidData`. This is how rustls
/// reports both problems.
fn is_invalid(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
        || error.get_ref().is_some_and(|inner| inner.downcast_ref().is_some_and(is_invalid))
}

/// Returns the causes of an error, outermost first.
pub(crate) fn causes(
    error: &reqwest::Error,
) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;

    #[test]
    fn documentation_has_the_meaning_of_every_code() {
        let page = imagekiln_testbed::page("docs/billing.md");
        let rows: Vec<_> = page.lines().filter_map(row_of_the_page).collect();
        for code in 100..=999 {
            let meaning = Meaning::of(StatusCode::from_u16(code).unwrap());
            let matching = rows.iter().find(|(codes, _)| codes.iter().any(|c| c.contains(&code)));
            assert_eq!(matching.map(|(_, cells)| cells), Some(&cells(meaning)), "{code}");
        }
    }

    /// Parses a row of the table: its codes, and its other cells. Other tables have no codes.
    fn row_of_the_page(line: &str) -> Option<(Vec<RangeInclusive<u16>>, [String; 3])> {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        let codes = cells.next()?.strip_prefix('`')?.replace('`', "");
        let range = |codes: &str| {
            let (first, last) = codes.split_once(" to ").unwrap_or((codes, codes));
            Some(first.parse().ok()?..=last.parse().ok()?)
        };
        let codes = codes.split(", ").map(range).collect::<Option<_>>()?;
        let cells: Vec<_> = cells.map(str::to_owned).collect();
        Some((codes, cells.try_into().unwrap()))
    }

    fn cells(meaning: &Meaning) -> [String; 3] {
        let submission = match meaning.submission {
            Refused => "not billed",
            Retried => "not billed, sent again",
            Unknown => "unknown",
        };
        let poll = match meaning.poll {
            Again => "polled again",
            End => "the wait ends",
        };
        [format!("`{:?}`", meaning.kind), submission.to_owned(), poll.to_owned()]
    }
}
