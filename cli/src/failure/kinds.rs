//! The kinds of failures, which programs may rely on.

/// Each kind and its meaning, which the help of `kiln exit-codes` lists.
pub const KINDS: [(&str, &str); 34] = [
    ("usage", "the command line is invalid"),
    ("settings", "a setting is missing or invalid"),
    ("validation", "the request, or a line of a job file, is invalid"),
    ("auth", "the key is missing, unknown, or has no access"),
    ("payment", "no credits are left, or the spending limit is reached"),
    ("rate_limited", "too many requests or active tasks, even after retries"),
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
    ("address_refused", "the delivery URL is not one that may be fetched"),
    ("webhook", "a webhook was rejected"),
    ("journal", "the history could not record the submission"),
    ("refused", "the history refused the submission"),
    ("file", "a file could not be read or written"),
    ("interrupted", "Ctrl-C"),
    ("not_saved", "several pictures were wanted, and some were not saved"),
    ("resume", "`kiln resume` did not save all pictures"),
    ("unknown", "the response to a submission was lost"),
    ("ledger", "the ledger could not be read or written"),
    ("locked", "another process runs the jobs of the ledger"),
    ("foreign", "the ledger may not know everything that was paid for"),
    ("state", "the state of a job does not allow the change"),
    ("hold", "the job can't be resolved as not paid yet"),
    ("jobs_failed", "jobs of the batch ended without a picture"),
    ("jobs_left", "jobs of the batch are left"),
    ("jobs_unknown", "the responses to submissions of the batch were lost"),
    ("other", "another local error"),
];

/// Whether programs know this kind.
pub fn is_known(kind: &str) -> bool {
    KINDS.iter().any(|(known, _)| *known == kind)
}
